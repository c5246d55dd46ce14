/** Which granted tools a new session gets, and why it does not get the others. Pure: everything was read before. */
import {
  type CatalogId,
  type ConnectionId,
  type CredentialId,
  type ErrorCode,
  errors,
  type IdSource,
  type SessionId,
} from '@sallyport/protocol'
import { digestOf, digestVersion } from '@sallyport/protocol/node'
import type { Catalog, CatalogTool } from '../catalog/catalog.ts'
import { fitsName } from '../catalog/naming.ts'
import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Grant } from '../grant/grant.ts'
import { admitsPersonal, modeFits } from '../grant/grant-rules.ts'
import type { Profile } from '../profile/profile.ts'
import { shownSchema } from '../schema/shown.ts'
import type { Isolation, Unavailable } from '../session/session.ts'
import type { Binding } from './binding.ts'
import { bindingHash } from './binding-hash.ts'
import { maskedConnections } from './masked-connections.ts'

/** The rows that decide, as one transaction saw them. */
export interface BindingInput {
  readonly sessionId: SessionId
  readonly isolation: Isolation
  readonly profile: Profile
  /** Those that count for the session's owner. */
  readonly grants: readonly Grant[]
  /** Of the grants. */
  readonly connections: ReadonlyMap<ConnectionId, Connection>
  /** Connections of the organization that were ever enabled: they mask others of their name, granted or not. */
  readonly orgConnections: readonly Connection[]
  readonly credentials: ReadonlyMap<CredentialId, Credential>
  readonly catalogs: ReadonlyMap<CatalogId, Catalog>
  readonly tools: ReadonlyMap<CatalogId, readonly CatalogTool[]>
}

export interface BoundSession {
  readonly bindings: readonly Binding[]
  readonly unavailable: readonly Unavailable[]
  /** A required connection with grants of which nothing could be bound. */
  readonly missingRequired: Connection | undefined
}

export function bindSession(input: BindingInput, ids: IdSource): BoundSession {
  const bindings: Binding[] = []
  const unavailable: Unavailable[] = []
  const masked = maskedConnections([...input.connections.values()], input.orgConnections)
  for (const connection of inOrder(input.connections.values())) {
    const code = masked.has(connection.id) ? 'masked' : refusal(connection, input)
    if (code) {
      unavailable.push(told(connection, null, code))
      continue
    }
    for (const grant of input.grants.filter(({ connectionId }) => connectionId === connection.id)) {
      const bound = bindTool(connection, grant, input, ids)
      if (typeof bound === 'string') unavailable.push(told(connection, grant.tool, bound))
      else bindings.push(bound)
    }
  }
  const bound = new Set(bindings.map(({ connectionId }) => connectionId))
  const missingRequired = [...input.connections.values()].find(
    ({ id, required }) => required && !bound.has(id),
  )
  return { bindings, unavailable, missingRequired }
}

function inOrder(connections: Iterable<Connection>): Connection[] {
  const key = ({ name, id }: Connection): string => `${name} ${id}`
  return [...connections].sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

function told(connection: Connection, tool: string | null, code: ErrorCode): Unavailable {
  return { connection: connection.name, tool, code, reason: errors[code].text }
}

/** Why nothing of a connection can be bound, or undefined. */
function refusal(connection: Connection, input: BindingInput): ErrorCode | undefined {
  if (connection.state === 'deleted') return 'not_found'
  if (connection.state !== 'enabled') return 'connection_disabled'
  if (!currentCatalog(connection, input)) return 'not_published'
  if (connection.credentialId === null) return undefined
  const credential = input.credentials.get(connection.credentialId)
  return credential?.state === 'active' ? undefined : 'credential_unusable'
}

function currentCatalog(connection: Connection, input: BindingInput): Catalog | undefined {
  const catalog = connection.publishedId ? input.catalogs.get(connection.publishedId) : undefined
  const isCurrent =
    catalog?.state === 'published' && catalog.connectionRevision === connection.revision
  return isCurrent ? catalog : undefined
}

/** The binding, or why there is none. */
function bindTool(
  connection: Connection,
  grant: Grant,
  input: BindingInput,
  ids: IdSource,
): Binding | ErrorCode {
  const catalog = currentCatalog(connection, input) as Catalog
  const tool = input.tools.get(catalog.id)?.find(({ name }) => name === grant.tool)
  if (tool?.decision !== 'include') return 'tool_not_published'
  if (!fitsName(connection.name, tool.exposedName)) return 'name_too_long'
  if (!modeFits(grant.mode, tool.access)) return 'mode_mismatch'
  const { settings } = input.profile
  if (grant.ownerId !== null && !admitsPersonal(settings.personal, grant.mode)) return 'not_allowed'
  if (grant.mode === 'write_with_approval' && !settings.interactive) return 'nobody_to_approve'
  const separation = separationRefusal(grant, tool, input.isolation)
  if (separation) return separation
  const facts = bindingOf(connection, catalog, tool, grant, input)
  return { id: ids('binding'), ...facts, hash: bindingHash(facts) }
}

/** Where nothing stands between a guest and its owner's own files, only a grant that says so lets it write. */
function separationRefusal(
  { limits }: Grant,
  { access }: CatalogTool,
  isolation: Isolation,
): ErrorCode | undefined {
  if (limits.isolation === undefined)
    return isolation === 'none' && access === 'write' ? 'not_separated' : undefined
  return limits.isolation.includes(isolation) ? undefined : 'isolation_refused'
}

function bindingOf(
  connection: Connection,
  catalog: Catalog,
  tool: CatalogTool,
  grant: Grant,
  { sessionId, profile }: BindingInput,
): Omit<Binding, 'id' | 'hash'> {
  const overlays = grant.limits.schema === undefined ? [] : [grant.limits.schema]
  const shown = shownSchema(tool.inputSchema, overlays, Object.keys(grant.limits.fixed ?? {}))
  const { callMs, resultBytes } = connection.limits
  return {
    sessionId,
    connectionName: connection.name,
    exposedName: tool.exposedName,
    connectionId: connection.id,
    connectionRevision: connection.revision,
    scope: connection.scope,
    credentialId: connection.credentialId,
    catalogId: catalog.id,
    tool: tool.name,
    toolDigest: tool.digest,
    grantId: grant.id,
    grantDigest: grant.digest,
    inputSchemaDigest: digestOf(tool.inputSchema),
    shownSchemaDigest: digestOf(shown.schema),
    mode: grant.mode,
    access: tool.access,
    limits: {
      callMs,
      resultBytes: Math.min(resultBytes, grant.limits.resultBytes ?? resultBytes),
      verifyWithinMs: profile.settings.verifyWithinSeconds * 1000,
    },
    digestVersion,
  }
}
