import { type ConnectionId, SallyportError } from '@sallyport/protocol'
import { coversAll } from '../deny/deny-set.ts'
import { placesOf } from '../deny/wanted-entries.ts'
import type { Deps } from '../deps.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'
import { lockConnection } from './connection-access.ts'
import { saveConnection } from './save-connection.ts'

/**
 * Needs a published catalog of the present revision (`not_published`) and, when there is a credential, an active one
 * (`credential_missing`). Its places must be denied to every guest first (`deny_set_pending`: bring the set into force and
 * try again). Enabling twice is enabling once.
 */
export function enableConnection(
  { store }: Deps,
  actor: Actor,
  id: ConnectionId,
): Promise<Connection> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const before = await lockConnection(tx, confirmed, id)
    if (before.state === 'enabled') return before
    await checkPublished(tx, before)
    await checkCredential(tx, before)
    await checkDenied(tx, before)
    return saveConnection(tx, before, { ...before, state: 'enabled', everEnabled: true })
  })
}

async function checkPublished(tx: Tx, connection: Connection): Promise<void> {
  const catalog = connection.publishedId ? await tx.catalogs.get(connection.publishedId) : undefined
  const isCurrent =
    catalog?.state === 'published' && catalog.connectionRevision === connection.revision
  if (!isCurrent) throw new SallyportError('not_published')
}

async function checkDenied(tx: Tx, connection: Connection): Promise<void> {
  const wanted = placesOf(connection, await tx.oauth.connection(connection.id))
  if (!coversAll(await tx.denials.published(), wanted)) throw new SallyportError('deny_set_pending')
}

async function checkCredential(tx: Tx, { id, credentialId }: Connection): Promise<void> {
  if (credentialId === null) {
    if (await tx.oauth.connection(id)) throw new SallyportError('credential_missing')
    return
  }
  const credential = await tx.credentials.get(credentialId)
  if (credential?.state !== 'active') throw new SallyportError('credential_missing')
}
