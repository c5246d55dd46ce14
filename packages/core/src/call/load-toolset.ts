/** Builds toolsets from bindings and keeps them: bindings, catalogs and grants never change, so what is kept stays true. */
import { type CatalogId, SallyportError, type SessionId } from '@sallyport/protocol'
import type { Binding } from '../binding/binding.ts'
import type { CatalogTool } from '../catalog/catalog.ts'
import type { Grant } from '../grant/grant.ts'
import {
  approvedArgumentByteLimit,
  argumentByteLimit,
  argumentRules,
  effectiveArguments,
} from '../schema/arguments.ts'
import type { SchemaCache } from '../schema/cache.ts'
import { paramHeaders } from '../schema/param-headers.ts'
import { shownSchema } from '../schema/shown.ts'
import type { Session } from '../session/session.ts'
import type { Authority, AuthorityRefs, Reads } from '../store.ts'
import { authorityRefs, judge } from './judge.ts'
import type { BoundTool, Toolset, Toolsets } from './toolset.ts'

const sessionLimit = 10_000
const catalogLimit = 200
const definitionLimit = 20_000

/** What does not depend on the session: shared by every session that has the tool by the same grant. */
interface Definition extends Omit<BoundTool, 'binding'> {}

export function createToolsets(reads: Reads, schemas: SchemaCache, now: () => number): Toolsets {
  const toolsets = new Map<SessionId, Promise<Toolset>>()
  const catalogs = new Map<CatalogId, Promise<Map<string, CatalogTool>>>()
  const definitions = new Map<string, Promise<Definition>>()

  const catalogTools = (id: CatalogId) =>
    remember(catalogs, catalogLimit, id, async () => {
      const tools = await reads.catalogs.tools(id)
      return new Map(tools.map((tool) => [tool.name, tool]))
    })

  const definition = (binding: Binding) =>
    remember(
      definitions,
      definitionLimit,
      `${binding.catalogId} ${binding.grantId} ${binding.tool}`,
      async () => {
        const tool = (await catalogTools(binding.catalogId)).get(binding.tool)
        const grant = await reads.grants.get(binding.grantId)
        if (!tool || !grant) throw new SallyportError('row_unreadable')
        return define(tool, grant, schemas)
      },
    )

  const load = async (session: Session): Promise<Toolset> => {
    const bindings = await reads.bindings.ofSession(session.id)
    const tools = await Promise.all(
      bindings.map(async (binding): Promise<BoundTool> => bind(binding, await definition(binding))),
    )
    return toolsetOf(tools)
  }

  return {
    of: (session) => remember(toolsets, sessionLimit, session.id, () => load(session)),
    async callable(session, toolset) {
      const judged = toolset.tools.map((tool) => ({ tool, binding: tool.binding, session }))
      const refs = authorityRefs(judged)
      const authority = await readAuthority(reads, refs, now())
      const observed = await readObserved(reads, refs.connections)
      return judged
        .filter(
          (item) => judge(item, authority) === undefined && !hasDrifted(item.binding, observed),
        )
        .map(({ tool }) => tool)
    },
  }
}

/** Keeps promises, so that simultaneous first uses load once; a failure is not kept. */
function remember<K, V>(
  kept: Map<K, Promise<V>>,
  limit: number,
  key: K,
  load: () => Promise<V>,
): Promise<V> {
  const found = kept.get(key)
  if (found !== undefined) {
    // As long as there is plenty of room, it does not matter which was used last.
    if (kept.size > limit / 2) {
      kept.delete(key)
      kept.set(key, found)
    }
    return found
  }
  const loading = load()
  kept.set(key, loading)
  loading.catch(() => kept.delete(key))
  for (const oldest of kept.keys()) {
    if (kept.size <= limit) break
    kept.delete(oldest)
  }
  return loading
}

function bind(binding: Binding, definition: Definition): BoundTool {
  return { ...definition, binding }
}

function toolsetOf(tools: readonly BoundTool[]): Toolset {
  const byName = new Map<string, BoundTool>()
  const byConnection = new Map<string, BoundTool>()
  for (const tool of tools) {
    const { connectionName, exposedName } = tool.binding
    byName.set(`${connectionName}__${exposedName}`, tool)
    byConnection.set(`${connectionName} ${exposedName}`, tool)
  }
  return {
    tools,
    find: (connection, name) =>
      connection === null ? byName.get(name) : byConnection.get(`${connection} ${name}`),
  }
}

function define(
  tool: CatalogTool,
  { limits, mode }: Pick<Grant, 'limits' | 'mode'>,
  schemas: SchemaCache,
): Definition {
  const overlays = limits.schema === undefined ? [] : [limits.schema]
  const fixed = limits.fixed ?? {}
  const byteLimit = mode === 'write_with_approval' ? approvedArgumentByteLimit : argumentByteLimit
  const rules = argumentRules(
    { catalogRoot: tool.inputSchema, overlays, fixed, byteLimit },
    schemas,
  )
  const shown = shownSchema(tool.inputSchema, overlays, Object.keys(fixed))
  const headers = paramHeaders(tool.inputSchema)
  const told = [tool.description, ...shown.told].filter((text) => text !== null && text !== '')
  return {
    title: tool.title,
    description: told.length > 0 ? told.join('\n\n') : null,
    inputSchema: shown.schema,
    outputSchema: tool.outputSchema,
    annotations: tool.annotations,
    grantLimits: limits,
    paramHeaders: headers.ok ? headers.headers : [],
    effective: (argumentsText) => effectiveArguments({ argumentsText, ...rules }),
  }
}

async function readObserved(reads: Reads, ids: AuthorityRefs['connections']) {
  const rows = await Promise.all(ids.map((id) => reads.connections.observation(id)))
  return new Map(rows.flatMap((row) => (row ? [[row.connectionId, row] as const] : [])))
}

/** The newest listing has another tool under this name, or none. The worker decides about calls; this about lists. */
function hasDrifted(binding: Binding, observed: Awaited<ReturnType<typeof readObserved>>): boolean {
  const listing = observed.get(binding.connectionId)
  if (listing?.connectionRevision !== binding.connectionRevision) return false
  return listing.tools[binding.tool] !== binding.toolDigest
}

/** The same rows as under the lock, read without one: good enough for a list, never for a call. */
async function readAuthority(reads: Reads, refs: AuthorityRefs, now: number): Promise<Authority> {
  const all = async <K extends string, V>(
    ids: readonly K[],
    get: (id: K) => Promise<V | undefined>,
  ) => {
    const rows = await Promise.all(ids.map(get))
    return new Map(
      ids.flatMap((id, at) => (rows[at] === undefined ? [] : [[id, rows[at]] as const])),
    )
  }
  return {
    now,
    connections: await all(refs.connections, (id) => reads.connections.get(id)),
    credentials: await all(refs.credentials, (id) => reads.credentials.get(id)),
    catalogs: await all(refs.catalogs, (id) => reads.catalogs.get(id)),
    profiles: await all(refs.profiles, (id) => reads.profiles.get(id)),
    // All that stand in one question: there are as many as tools, and a list is asked for often.
    grants: new Map(
      [...(await all(refs.profiles, (id) => reads.grants.ofProfile(id))).values()].flatMap(
        (grants) => grants.map((grant) => [grant.id, grant] as const),
      ),
    ),
    sessions: await all(refs.sessions, (id) => reads.sessions.get(id)),
    pause: undefined,
    busy: new Set(),
  }
}
