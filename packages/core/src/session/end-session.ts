import { SallyportError, type SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { living } from './close-sessions.ts'
import { finishSession, type InFlight } from './finish-session.ts'
import type { Session } from './session.ts'

/** Ends a session of one's own, or any for an administrator; others' are `not_found`. Ending twice is ending once. */
export async function endSession(
  { store }: Deps,
  inFlight: InFlight,
  actor: Actor,
  id: SessionId,
): Promise<Session> {
  const session = await store.transact(async (tx) => {
    const { userId, role } = await confirmActor(tx, actor)
    await tx.lockForChange({ sessions: [id] })
    const session = await tx.sessions.get(id)
    if (!session || (session.ownerId !== userId && role !== 'admin'))
      throw new SallyportError('not_found', { field: 'id' })
    await tx.sessions.move(id, living, 'closing', { endReason: 'ended_by_user' })
    return session
  })
  if (session.state === 'ended') return session
  const ended = await finishSession(store, inFlight, id)
  return ended ?? session
}
