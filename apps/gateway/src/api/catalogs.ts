import {
  type Actor,
  type Catalog,
  type CatalogTool,
  type Connection,
  checkMayManage,
  checkMayUse,
  diffTools,
  findConnection,
  newestDraft,
  publishCatalog,
  reviewCatalog,
  saveDiscovery,
  withdrawCatalog,
} from '@sallyport/core'
import { type Answer, SallyportError } from '@sallyport/protocol'
import type { ListedTool } from '@sallyport/protocol/node'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { listUpstream } from './list-upstream.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

export function catalogHandlers(deps: ApiDeps): HandlersOf<'catalog'> {
  const { store } = deps
  const managed = async (actor: Actor, name: string): Promise<Connection> =>
    checkMayManage(actor, await findConnection(store, actor, name))
  const show = async (connection: Connection, catalog: Catalog) =>
    viewCatalog(connection, catalog, await store.catalogs.tools(catalog.id))
  return {
    'catalog.discover': async ({ actor, params }) => {
      const connection = await managed(actor, params.name)
      const { listing, asked } = await listUpstream(deps, connection)
      return show(connection, await saveDiscovery(deps, actor, asked, listing))
    },
    'catalog.show': async ({ actor, params, query }) => {
      const connection = checkMayUse(actor, await findConnection(store, actor, params.name))
      return show(connection, await chosenCatalog(deps, connection, query.revision))
    },
    'catalog.diff': async ({ actor, params }) => {
      const connection = await managed(actor, params.name)
      const { listing } = await listUpstream(deps, connection)
      const published = connection.publishedId
        ? await store.catalogs.get(connection.publishedId)
        : undefined
      const before = published ? await store.catalogs.tools(published.id) : []
      const diff = diffTools(before, listing.tools.map(listedTool))
      const same = published?.digest === listing.digest
      return { against: published?.number ?? null, same, ...diff }
    },
    'catalog.review': async ({ actor, params, body }) => {
      const connection = await managed(actor, params.name)
      return show(connection, await reviewCatalog(deps, actor, connection.id, body))
    },
    'catalog.publish': async ({ actor, params, body }) => {
      const connection = await managed(actor, params.name)
      return show(connection, await publishCatalog(deps, actor, connection.id, body.version))
    },
    'catalog.withdraw': async ({ actor, params, body }) => {
      const connection = await managed(actor, params.name)
      return show(connection, await withdrawCatalog(deps, actor, connection.id, body.revision))
    },
  }
}

/** Revision `number`, or the newest draft, else the published revision. */
async function chosenCatalog(
  { store }: ApiDeps,
  { id, publishedId }: Connection,
  number: number | undefined,
): Promise<Catalog> {
  const revisions = await store.catalogs.ofConnection(id)
  const chosen =
    number === undefined
      ? ((await newestDraft(store, id)) ?? revisions.find((one) => one.id === publishedId))
      : revisions.find((one) => one.number === number)
  if (!chosen) throw new SallyportError('not_found', { field: 'revision' })
  return chosen
}

/** What a listing leaves out is null in a catalog. */
function listedTool(tool: ListedTool) {
  const { title = null, description = null, outputSchema = null, annotations = null } = tool
  return { ...tool, title, description, outputSchema, annotations }
}

type View = Answer<'catalog.show'>

function viewCatalog(
  connection: Connection,
  catalog: Catalog,
  tools: readonly CatalogTool[],
): View {
  return {
    id: catalog.id,
    state: catalog.state,
    connection: connection.name,
    connectionRevision: catalog.connectionRevision,
    number: catalog.number,
    version: catalog.version,
    era: catalog.era,
    protocolVersion: catalog.protocolVersion,
    serverInfo: catalog.serverInfo as View['serverInfo'],
    digest: catalog.digest,
    discoveredAt: viewTime(catalog.discoveredAt),
    publishedAt: viewTimeOrNull(catalog.publishedAt),
    tools: tools.map(viewTool),
  }
}

type ToolView = View['tools'][number]

function viewTool(tool: CatalogTool): ToolView {
  return {
    id: tool.name,
    state: tool.decision,
    name: tool.name,
    exposedName: tool.exposedName,
    title: tool.title,
    description: tool.description,
    inputSchema: tool.inputSchema as ToolView['inputSchema'],
    outputSchema: tool.outputSchema as ToolView['outputSchema'],
    annotations: tool.annotations as ToolView['annotations'],
    digest: tool.digest,
    access: tool.access,
    note: tool.note,
    flags: [...tool.flags],
    refusedBecause: tool.refusedBecause,
  }
}
