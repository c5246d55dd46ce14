import { type CatalogId, SallyportError } from '@sallyport/protocol'
import type { Listing } from '@sallyport/protocol/node'
import { checkMayManage, lockConnection } from '../connection/connection-access.ts'
import { type Asked, isStillAsked, observe } from '../connection/record-listing.ts'
import { saveConnection } from '../connection/save-connection.ts'
import type { Deps } from '../deps.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Catalog, CatalogTool } from './catalog.ts'
import { discardDrafts } from './drafts.ts'
import { foreignNames } from './foreign-names.ts'
import { catalogFromListing } from './from-listing.ts'

/**
 * A listing becomes the draft of the next revision; an older draft is discarded. Accepted only while connection and
 * credential are what they were when it was asked for (`conflict`). A tool that is unchanged since the last published
 * revision keeps what was decided about it.
 */
export async function saveDiscovery(
  { store, ids }: Deps,
  actor: Actor,
  asked: Asked,
  listing: Listing,
): Promise<Catalog> {
  const seen = checkMayManage(actor, await store.connections.get(asked.connectionId))
  const foreign = await foreignNames(store, actor, seen.id)
  const tools = await catalogFromListing(listing, seen.name, foreign)
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const draft = draftOf(ids('catalog'), listing, asked, confirmed, await tx.now())
    const decided = await lastDecisions(tx, draft)
    // The many rows first: calls that use the connection wait for what comes under the lock.
    await tx.catalogs.insert(
      draft,
      tools.map((tool) => carryOver(tool, decided.get(tool.name))),
    )
    const connection = await lockConnection(tx, confirmed, asked.connectionId)
    // Exposed names are made with the connection's.
    const isRenamed = connection.name !== seen.name
    if (isRenamed || !(await isStillAsked(tx, connection, asked)))
      throw new SallyportError('conflict')
    await discardDrafts(tx, connection.id, draft.id)
    await observe(tx, asked, listing)
    if (connection.state === 'draft')
      await saveConnection(tx, connection, { ...connection, state: 'ready' })
    return draft
  })
}

function draftOf(
  id: CatalogId,
  listing: Listing,
  asked: Asked,
  { userId }: Actor,
  now: number,
): Catalog {
  return {
    id,
    connectionId: asked.connectionId,
    connectionRevision: asked.connectionRevision,
    number: null,
    state: 'discovered',
    version: 1,
    era: listing.era,
    protocolVersion: listing.protocolVersion,
    serverInfo: listing.serverInfo ?? null,
    digest: listing.digest,
    discoveredAt: now,
    discoveredBy: userId,
    reviewedBy: null,
    publishedBy: null,
    publishedAt: null,
  }
}

/** Of the newest revision that was published and not withdrawn, unless it was of another endpoint. */
async function lastDecisions(
  tx: Tx,
  { connectionId, connectionRevision }: Catalog,
): Promise<ReadonlyMap<string, CatalogTool>> {
  const numbered = (await tx.catalogs.ofConnection(connectionId)).filter(
    (catalog) =>
      (catalog.state === 'published' || catalog.state === 'superseded') &&
      catalog.connectionRevision === connectionRevision,
  )
  const last = numbered.sort((a, b) => (b.number ?? 0) - (a.number ?? 0))[0]
  const tools = last ? await tx.catalogs.tools(last.id) : []
  return new Map(tools.map((tool) => [tool.name, tool]))
}

function carryOver(tool: CatalogTool, decided: CatalogTool | undefined): CatalogTool {
  if (decided?.digest !== tool.digest || tool.refusedBecause !== null) return tool
  return { ...tool, access: decided.access, decision: decided.decision, note: decided.note }
}
