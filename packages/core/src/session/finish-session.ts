import type { SessionId } from '@sallyport/protocol'
import type { Store } from '../store.ts'
import type { Session } from './session.ts'

/** What knows the calls in flight. */
export interface InFlight {
  /**
   * Resolves when no execution of the session is open any more: finished, or recorded as what is known of it. Bounded.
   * Rejects when that could not be done now; the session then stays `closing` and the sweep tries again.
   */
  settleSession(id: SessionId): Promise<void>
}

/** From `closing` to `ended`, after what is in flight was finished or recorded. The session as it is then. */
export async function finishSession(
  store: Store,
  inFlight: InFlight,
  id: SessionId,
): Promise<Session | undefined> {
  await inFlight.settleSession(id)
  return store.transact(async (tx) => {
    await tx.lockForChange({ sessions: [id] })
    await tx.sessions.move(id, ['closing'], 'ended', { endedAt: await tx.now() })
    return tx.sessions.get(id)
  })
}
