import {
  compareEvidence,
  type DenySet,
  judgePlan,
  type Mismatch,
  SallyportError,
  type SandboxEvidence,
  type SessionId,
} from '@sallyport/protocol'
import { confirmDenial, mayOpen } from '../deny/session-denials.ts'
import type { Deps } from '../deps.ts'
import type { PageDraft } from '../journal/journal.ts'
import { closeSession, living } from '../session/close-sessions.ts'
import { finishSession, type InFlight } from '../session/finish-session.ts'
import type { Session } from '../session/session.ts'
import type { Tx } from '../store.ts'
import type { Actor } from '../user/user.ts'
import { lockOwnSandbox } from './own-sandbox.ts'
import type { SessionSandbox } from './session-sandbox.ts'

export interface ShownEvidence {
  readonly ownerKey: string
  readonly evidence: SandboxEvidence
  /** What is enforced in it, confirmed with the evidence. */
  readonly denySet?: Pick<DenySet, 'revision' | 'digest'> | undefined
}

/**
 * The owner shows what was seen of the sandbox. A session that was created opens when that is as planned; one that is open
 * stays so when it is still the same sandbox. Otherwise it ends, and the error is `evidence_mismatch` with the first word of
 * what differs. Throws `not_found`, `not_the_owner`, `session_ended`; `deny_set_mismatch` and `deny_set_unconfirmed` when
 * what is denied has moved: then nothing has changed, and it is shown again with the newest.
 */
export async function showEvidence(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  actor: Actor,
  id: SessionId,
  shown: ShownEvidence,
): Promise<Session> {
  await store.transact((tx) => beginVerifying(tx, actor, id, shown))
  const [found] = await journal.transact((tx, page) => judge(tx, page, actor, id, shown))
  if (found) {
    await finishSession(store, inFlight, id)
    throw new SallyportError('evidence_mismatch', { field: found.what, cause: found })
  }
  const session = await store.sessions.get(id)
  if (!session) throw new SallyportError('not_found', { field: 'id' })
  return session
}

/** What was shown is on record before it is judged. */
async function beginVerifying(tx: Tx, actor: Actor, id: SessionId, shown: ShownEvidence) {
  const { session } = await lockOwnSandbox(tx, actor, id, shown.ownerKey)
  if (!isOneOf(living, session.state)) throw new SallyportError('session_ended')
  if (session.state === 'open') return
  await tx.sandboxes.show(id, shown.evidence, null)
  await tx.sessions.move(id, ['created'], 'verifying', {})
}

async function judge(
  tx: Tx,
  page: PageDraft,
  actor: Actor,
  id: SessionId,
  { ownerKey, evidence, denySet }: ShownEvidence,
): Promise<readonly Mismatch[]> {
  const { session, sandbox } = await lockOwnSandbox(tx, actor, id, ownerKey)
  if (!isOneOf(living, session.state)) throw new SallyportError('session_ended')
  const mismatches = mismatchesOf(session, sandbox, evidence)
  if (mismatches.length > 0) {
    await closeSession(tx, page, id, living, 'evidence_mismatch')
    return mismatches
  }
  await keepFrom(tx, session, denySet)
  const now = await tx.now()
  await tx.sandboxes.show(id, evidence, now)
  await tx.sandboxes.see(id, now)
  await tx.sessions.move(id, ['verifying'], 'open', { openedAt: now })
  return []
}

/** Before it opens, a guest is kept from what is in force; one without walls is kept from nothing. */
async function keepFrom(
  tx: Tx,
  { id, state, isolation }: Session,
  denySet: ShownEvidence['denySet'],
): Promise<void> {
  if (isolation === 'none') return
  if (denySet) await confirmDenial(tx, id, 'owner', denySet)
  if (state !== 'open' && !(await mayOpen(tx, id))) throw new SallyportError('deny_set_unconfirmed')
}

function mismatchesOf(
  { state }: Session,
  { plan, evidence: before }: SessionSandbox,
  now: SandboxEvidence,
): readonly Mismatch[] {
  if (state !== 'open' || before === null)
    return [...judgePlan(plan), ...compareEvidence(plan, now, 'held')]
  return [...compareEvidence(plan, now, 'running'), ...changesOf(before, now)]
}

function changesOf(before: SandboxEvidence, now: SandboxEvidence): readonly Mismatch[] {
  const [a, b] = [before, now].map(({ process, namespaces }) =>
    JSON.stringify([process, namespaces]),
  )
  if (a === b || a === undefined || b === undefined) return []
  return [{ what: 'sandbox', expected: 'the same as before', found: 'another' }]
}

const isOneOf = <T>(all: readonly T[], one: unknown): boolean => all.some((each) => each === one)
