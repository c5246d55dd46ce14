import type { SessionId, UserId } from '@sallyport/protocol'
import { cancelWaiting } from '../approval/cancel-waiting.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import type { SessionState } from './session.ts'

/** States a session can be ended from. */
export const living = ['created', 'verifying', 'open'] as const satisfies readonly SessionState[]

const many = 100_000

/**
 * From one of these states to `closing`, under the session's lock; what of it waits before the barrier is refused, and its
 * approvals end. False when it is in none of them: then nothing was done.
 */
export async function closeSession(
  tx: Tx,
  page: PageDraft,
  id: SessionId,
  from: readonly SessionState[],
  endReason: string,
): Promise<boolean> {
  if (!(await tx.sessions.move(id, from, 'closing', { endReason }))) return false
  const unfinished = await tx.executions.unfinishedOf(id)
  await cancelWaiting(tx, page, unfinished, { code: 'session_not_open' })
  return true
}

/** Every living session of a user becomes `closing`; their ids, with those that already were. */
export async function closeSessions(
  tx: Tx,
  page: PageDraft,
  ownerId: UserId,
  endReason: string,
): Promise<SessionId[]> {
  const ids: SessionId[] = []
  for (const state of [...living, 'closing'] as const) {
    const sessions = await tx.sessions.list({ ownerId, state, limit: many })
    ids.push(...sessions.map(({ id }) => id))
  }
  ids.sort()
  await tx.lockForChange({ sessions: ids })
  for (const id of ids) await closeSession(tx, page, id, living, endReason)
  return ids
}
