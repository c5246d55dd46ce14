import type { SessionId } from '@sallyport/protocol'
import type { Store } from '../store.ts'
import type { Session } from './session.ts'

/** What knows the calls in flight. */
export interface InFlight {
  /**
   * Waits for the calls of the session that this process carries, within a bound. Rejects when that cannot be done now;
   * the session then stays `closing` and the sweep tries again.
   */
  settleSession(id: SessionId): Promise<void>
}

/**
 * From `closing` to `ended`, once nothing of it is open any more, whichever gateway carries it; else it stays `closing`.
 * The session as it is then.
 */
export async function finishSession(
  store: Store,
  inFlight: InFlight,
  id: SessionId,
): Promise<Session | undefined> {
  await inFlight.settleSession(id)
  return store.transact(async (tx) => {
    await tx.lockForChange({ sessions: [id] })
    const open = await tx.executions.unfinishedOf(id)
    if (open.length === 0)
      await tx.sessions.move(id, ['closing'], 'ended', { endedAt: await tx.now() })
    return tx.sessions.get(id)
  })
}
