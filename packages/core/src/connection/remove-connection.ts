import type { ConnectionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { endCredential } from '../oauth/ended-grant.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'
import { lockConnection } from './connection-access.ts'
import { saveConnection } from './save-connection.ts'

/** The row stays, for what refers to it, without its secrets; the name is free again. */
export function removeConnection(
  { journal }: Deps,
  actor: Actor,
  id: ConnectionId,
): Promise<Connection> {
  return journal.transact(async (tx, page) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    page.end(await endCredential(tx, page, { connection: before, by: confirmed.userId }))
    return saveConnection(tx, before, { ...before, state: 'deleted', endpointSeal: null })
  })
}
