import type { ConnectionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'
import { lockConnection } from './connection-access.ts'
import { saveConnection } from './save-connection.ts'

/** When it resolves no barrier passes any more. What is not enabled stays as it is. */
export function disableConnection(
  { store }: Deps,
  actor: Actor,
  id: ConnectionId,
): Promise<Connection> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    if (before.state !== 'enabled') return before
    return saveConnection(tx, before, { ...before, state: 'disabled' })
  })
}
