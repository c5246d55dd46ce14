import { type ConnectionId, SallyportError } from '@sallyport/protocol'
import { checkMayManage, lockConnection } from '../connection/connection-access.ts'
import { saveConnection } from '../connection/save-connection.ts'
import type { Deps } from '../deps.ts'
import type { Reads, Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Catalog } from './catalog.ts'
import { newestDraft, saveCatalog, supersedePublished } from './drafts.ts'

/**
 * Publishes the draft that was in review when the request came; `nothing_to_publish` when there is none or it includes
 * nothing. Under the lock of the connection it is looked at again: the actor still may, the connection's revision and
 * the draft have not moved (`conflict`). Of two publishers one wins.
 */
export async function publishCatalog(
  { store }: Deps,
  actor: Actor,
  connectionId: ConnectionId,
  expectedVersion?: number,
): Promise<Catalog> {
  const seenConnection = checkMayManage(actor, await store.connections.get(connectionId))
  const seen = await newestDraft(store, connectionId)
  if (seen?.state !== 'in_review') throw new SallyportError('nothing_to_publish')
  if (expectedVersion !== undefined && expectedVersion !== seen.version)
    throw new SallyportError('conflict')
  await checkSomethingIncluded(store, seen)
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const connection = await lockConnection(tx, confirmed, connectionId)
    const draft = await tx.catalogs.get(seen.id)
    const moved =
      draft?.state !== 'in_review' ||
      draft.version !== seen.version ||
      draft.connectionRevision !== connection.revision ||
      connection.revision !== seenConnection.revision
    if (moved) throw new SallyportError('conflict')
    await supersedePublished(tx, connectionId)
    const published = await saveCatalog(tx, draft, {
      ...draft,
      state: 'published',
      number: await nextNumber(tx, connectionId),
      publishedBy: confirmed.userId,
      publishedAt: await tx.now(),
    })
    await saveConnection(tx, connection, { ...connection, publishedId: published.id })
    return published
  })
}

/** True of that version of the draft for ever, so it is read before the lock. */
async function checkSomethingIncluded(reads: Reads, draft: Catalog): Promise<void> {
  const tools = await reads.catalogs.tools(draft.id)
  if (!tools.some(({ decision }) => decision === 'include'))
    throw new SallyportError('nothing_to_publish')
}

async function nextNumber(tx: Tx, connectionId: ConnectionId): Promise<number> {
  const catalogs = await tx.catalogs.ofConnection(connectionId)
  return Math.max(0, ...catalogs.map(({ number }) => number ?? 0)) + 1
}
