import { type endReasons, SallyportError, type SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { lockOwnSandbox } from '../sandbox/own-sandbox.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { closeSession, living } from './close-sessions.ts'
import { finishSession, type InFlight } from './finish-session.ts'
import type { Session } from './session.ts'

/** What the owner of a sandbox knows about its end. */
export interface OwnersReason {
  readonly ownerKey: string
  readonly reason: (typeof endReasons)[number]
}

/**
 * Ends a session of one's own, or any for an administrator; others' are `not_found`. Ending twice is ending once. What of it
 * waits for a person is refused at once. Only the owner of its sandbox gives another reason: else `not_the_owner`.
 */
export async function endSession(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  actor: Actor,
  id: SessionId,
  owners?: OwnersReason,
): Promise<Session> {
  const session = await journal.transact(async (tx, page) => {
    const { userId, role } = await confirmActor(tx, actor)
    await tx.lockForChange({ sessions: [id] })
    const session = await tx.sessions.get(id)
    if (!session || (session.ownerId !== userId && role !== 'admin'))
      throw new SallyportError('not_found', { field: 'id' })
    if (owners) await lockOwnSandbox(tx, actor, id, owners.ownerKey)
    await closeSession(tx, page, id, living, owners?.reason ?? 'ended_by_user')
    return session
  })
  if (session.state === 'ended') return session
  const ended = await finishSession(store, inFlight, id)
  return ended ?? session
}
