import {
  type BornProcess,
  type DenySet,
  judgePlan,
  type ProfileId,
  SallyportError,
  type SandboxPlan,
  type SessionId,
  sandboxClasses,
  type UserId,
} from '@sallyport/protocol'
import { bindSession } from '../binding/bind-session.ts'
import type { Binding } from '../binding/binding.ts'
import { readBindingInput } from '../binding/read-binding-input.ts'
import type { DenyKeeper } from '../deny/deny-set.ts'
import { beginDenial } from '../deny/session-denials.ts'
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
  /** An ended session of the same owner and profile: for identical calls both are one. */
  readonly continues?: SessionId | undefined
  /** For the classes that a launcher opens: what it is about to make, and its own process. */
  readonly sandbox?: { readonly plan: SandboxPlan; readonly owner: BornProcess } | undefined
  /** For class external: the deny set that is enforced in the sandbox, by the word of whoever creates the session. */
  readonly denySet?: Pick<DenySet, 'revision' | 'digest'> | undefined
}

export interface CreatedSession {
  readonly session: Session
  readonly bindings: readonly Binding[]
  /** The bearer, shown once. */
  readonly secret: string
  /** By which the owner of the sandbox is known, shown once; null when there is none. */
  readonly ownerKey: string | null
  /** What its guest must not reach by itself. */
  readonly denySet: DenySet
}

/**
 * A session of class `external` is open at once: its creator vouches for the sandbox, and that word is recorded. One of
 * another class is created with the plan of its sandbox, and opened by evidence. What was granted is bound once; what
 * cannot be bound is listed with the reason. Throws `not_found`, `not_allowed`, `isolation_refused`,
 * `isolation_not_available`, `bad_request` for a sandbox that is none of the class, `required_unavailable` with the
 * connection's name, `session_not_ended` for the session to be continued, and `deny_set_mismatch`.
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
    const continued = await continuedOf(tx, owner.id, profile.id, input.continues)
    const { isolation, sandbox } = input
    const facts = await readBindingInput(tx, sessionId, profile, owner, isolation)
    const bound = bindSession(facts, ids)
    if (bound.missingRequired)
      throw new SallyportError('required_unavailable', { field: bound.missingRequired.name })
    const { secret, hash } = newSecretToken(random)
    const now = await tx.now()
    const session: Session = {
      id: sessionId,
      profileId: profile.id,
      ownerId: owner.id,
      state: sandbox ? 'created' : 'open',
      tokenHash: hash,
      isolation,
      label: input.label ?? null,
      harness: input.harness ?? null,
      chainId: continued?.chainId ?? sessionId,
      continues: continued?.id ?? null,
      evidence: sandbox ? null : { vouchedBy: confirmed.userId },
      createdBy: confirmed.userId,
      createdAt: now,
      openedAt: sandbox ? null : now,
      expiresAt: now + profile.settings.maxAgeSeconds * 1000,
      idleMs: profile.settings.idleSeconds * 1000,
      lastCallAt: now,
      endedAt: null,
      endReason: null,
      unavailable: bound.unavailable,
    }
    await tx.sessions.insert(session)
    await tx.bindings.insert(bound.bindings)
    const owned = sandbox ? newSecretToken(random) : undefined
    if (sandbox && owned)
      await tx.sandboxes.insert({
        sessionId,
        ...sandbox,
        ownerHash: owned.hash,
        evidence: null,
        provedAt: null,
        seenAt: now,
      })
    const denySet = await beginDenial(tx, sessionId, keeperOf(input), input.denySet)
    const ownerKey = owned?.secret ?? null
    return { session, bindings: bound.bindings, secret, ownerKey, denySet }
  })
}

/** Without a sandbox nothing keeps a guest from anything. */
function keeperOf({ isolation, denySet }: NewSession): DenyKeeper {
  if (isolation === 'external') return denySet ? 'word' : 'nobody'
  return isolation === 'none' ? 'nobody' : 'owner'
}

async function continuedOf(
  tx: Tx,
  ownerId: UserId,
  profileId: ProfileId,
  id: SessionId | undefined,
): Promise<Session | undefined> {
  if (id === undefined) return undefined
  const session = await tx.sessions.get(id)
  if (session?.ownerId !== ownerId || session.profileId !== profileId)
    throw new SallyportError('not_found', { field: 'continues' })
  if (session.state !== 'ended')
    throw new SallyportError('session_not_ended', { field: 'continues' })
  return session
}

async function checkStarter(tx: Tx, profile: Profile, { userId, role }: Actor): Promise<void> {
  const user = await tx.users.get(userId)
  if (!user || !mayStart(profile, { name: user.name, role }))
    throw new SallyportError('not_allowed', { field: 'profile' })
}

function checkFits(
  { settings }: Profile,
  { isolation, harness, sandbox, denySet }: NewSession,
): void {
  if (!settings.isolation.includes(isolation))
    throw new SallyportError('isolation_refused', { field: 'isolation' })
  const isLaunched = sandboxClasses.some((one) => one === isolation)
  if (!isLaunched && isolation !== 'external')
    throw new SallyportError('isolation_not_available', { field: 'isolation' })
  if (isLaunched !== (sandbox !== undefined))
    throw new SallyportError('bad_request', { field: 'sandbox' })
  if (denySet !== undefined && isLaunched)
    throw new SallyportError('bad_request', { field: 'denySet' })
  if (sandbox && (sandbox.plan.isolation !== isolation || judgePlan(sandbox.plan).length > 0))
    throw new SallyportError('bad_request', { field: 'sandbox.plan' })
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
