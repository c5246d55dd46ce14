import { SallyportError } from '@sallyport/protocol'
import { bindSession } from '../binding/bind-session.ts'
import type { Binding } from '../binding/binding.ts'
import { readBindingInput } from '../binding/read-binding-input.ts'
import type { Deps } from '../deps.ts'
import { findProfile } from '../profile/find-profile.ts'
import { mayStart } from '../profile/may-start.ts'
import type { Profile } from '../profile/profile.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import { newSecretToken } from '../user/secret-token.ts'
import type { Actor, User } from '../user/user.ts'
import type { Isolation, Session } from './session.ts'

export interface NewSession {
  readonly profile: string
  readonly isolation: Isolation
  readonly label?: string | undefined
  /** A user's name; administrators may name another than themselves. */
  readonly owner?: string | undefined
  readonly harness?: string | undefined
}

export interface CreatedSession {
  readonly session: Session
  readonly bindings: readonly Binding[]
  /** The bearer, shown once. */
  readonly secret: string
}

/**
 * Opens a session of class `external`: its creator vouches for the sandbox, and that word is recorded. What was granted
 * is bound once; what cannot be bound is listed with the reason. Throws `not_found`, `not_allowed`,
 * `isolation_refused`, `isolation_not_available`, and `required_unavailable` with the connection's name.
 */
export function createSession(
  { store, ids, random }: Deps,
  actor: Actor,
  input: NewSession,
): Promise<CreatedSession> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const profile = await findProfile(tx, input.profile)
    checkFits(profile, input)
    await checkStarter(tx, profile, confirmed)
    const owner = await ownerOf(tx, confirmed, input.owner)
    const sessionId = ids('session')
    const bound = bindSession(await readBindingInput(tx, sessionId, profile, owner), ids)
    if (bound.missingRequired)
      throw new SallyportError('required_unavailable', { field: bound.missingRequired.name })
    const { secret, hash } = newSecretToken(random)
    const now = await tx.now()
    const session: Session = {
      id: sessionId,
      profileId: profile.id,
      ownerId: owner.id,
      state: 'open',
      tokenHash: hash,
      isolation: input.isolation,
      label: input.label ?? null,
      harness: input.harness ?? null,
      evidence: { vouchedBy: confirmed.userId },
      createdBy: confirmed.userId,
      createdAt: now,
      openedAt: now,
      expiresAt: now + profile.settings.maxAgeSeconds * 1000,
      idleMs: profile.settings.idleSeconds * 1000,
      lastCallAt: now,
      endedAt: null,
      endReason: null,
      unavailable: bound.unavailable,
    }
    await tx.sessions.insert(session)
    await tx.bindings.insert(bound.bindings)
    return { session, bindings: bound.bindings, secret }
  })
}

async function checkStarter(tx: Tx, profile: Profile, { userId, role }: Actor): Promise<void> {
  const user = await tx.users.get(userId)
  if (!user || !mayStart(profile, { name: user.name, role }))
    throw new SallyportError('not_allowed', { field: 'profile' })
}

function checkFits({ settings }: Profile, { isolation, harness }: NewSession): void {
  if (!settings.isolation.includes(isolation))
    throw new SallyportError('isolation_refused', { field: 'isolation' })
  // The other classes are opened by the launcher, with evidence.
  if (isolation !== 'external')
    throw new SallyportError('isolation_not_available', { field: 'isolation' })
  const isAnyHarness = settings.harnesses.length === 0
  if (!isAnyHarness && (harness === undefined || !settings.harnesses.includes(harness)))
    throw new SallyportError('not_allowed', { field: 'harness' })
}

/** Held until the session stands, so that disabling its owner ends it too. */
async function ownerOf(tx: Tx, actor: Actor, name: string | undefined): Promise<User> {
  const named = name === undefined ? undefined : await tx.users.byName(name)
  const id = name === undefined ? actor.userId : named?.id
  if (id === undefined || (id !== actor.userId && actor.role !== 'admin'))
    throw new SallyportError('not_found', { field: 'owner' })
  const owner = await tx.users.lock(id)
  if (!owner || owner.disabledAt !== null) throw new SallyportError('not_found', { field: 'owner' })
  return owner
}
