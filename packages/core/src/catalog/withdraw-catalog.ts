import { type ConnectionId, SallyportError } from '@sallyport/protocol'
import { lockConnection } from '../connection/connection-access.ts'
import { saveConnection } from '../connection/save-connection.ts'
import type { Deps } from '../deps.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Catalog } from './catalog.ts'
import { saveCatalog } from './drafts.ts'

/**
 * Takes a published or superseded revision back: its bindings refuse from now on. Withdrawing twice is withdrawing once.
 * Throws `not_found` for a number the connection does not have.
 */
export function withdrawCatalog(
  { store }: Deps,
  actor: Actor,
  connectionId: ConnectionId,
  number: number,
): Promise<Catalog> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const connection = await lockConnection(tx, confirmed, connectionId)
    const catalogs = await tx.catalogs.ofConnection(connectionId)
    const catalog = catalogs.find((candidate) => candidate.number === number)
    if (!catalog) throw new SallyportError('not_found', { field: 'revision' })
    if (catalog.state === 'withdrawn') return catalog
    await tx.lockForChange({ catalogs: [catalog.id] })
    const withdrawn = await saveCatalog(tx, catalog, { ...catalog, state: 'withdrawn' })
    if (connection.publishedId === catalog.id)
      await saveConnection(tx, connection, { ...connection, publishedId: null })
    return withdrawn
  })
}
