import type { ConnectionId } from '@sallyport/protocol'
import { revokeCredential } from '../credential/replace-credential.ts'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'
import { lockConnection } from './connection-access.ts'
import { saveConnection } from './save-connection.ts'

/** The row stays, for what refers to it, without its secrets; the name is free again. */
export function removeConnection(
  { store }: Deps,
  actor: Actor,
  id: ConnectionId,
): Promise<Connection> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    if (before.credentialId !== null) await revokeCredential(tx, before.credentialId)
    return saveConnection(tx, before, { ...before, state: 'deleted', endpointSeal: null })
  })
}
