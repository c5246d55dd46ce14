import type { SessionId, UserId } from '@sallyport/protocol'
import type { Tx } from '../store.ts'
import type { SessionState } from './session.ts'

/** States a session can be ended from. */
export const living = ['created', 'verifying', 'open'] as const satisfies readonly SessionState[]

const many = 100_000

/** Every living session of a user becomes `closing`; their ids, with those that already were. */
export async function closeSessions(
  tx: Tx,
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
  for (const id of ids) await tx.sessions.move(id, living, 'closing', { endReason })
  return ids
}
