import { type Actor, type Connection, type Credential, mayUse } from '@sallyport/core'
import type { Answer } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

type View = Answer<'connection.show'>

/** Of a personal connection another than its owner sees that it exists, not where it leads nor how. */
export async function viewConnection(
  { store }: Pick<ApiDeps, 'store'>,
  actor: Actor,
  connection: Connection,
): Promise<View> {
  const { credentialId } = connection
  const credential = credentialId === null ? undefined : await store.credentials.get(credentialId)
  const isOpen = mayUse(actor, connection)
  return {
    id: connection.id,
    name: connection.name,
    state: connection.state,
    scope: connection.scope,
    ownerId: connection.ownerId,
    transport: connection.transport,
    endpoint: isOpen ? originOf(connection) : '',
    auth: authOf(credential),
    headerNames: isOpen ? [...(credential?.clear.headerNames ?? [])] : [],
    credential: credential
      ? { id: credential.id, version: credential.version, state: credential.state }
      : null,
    revision: connection.revision,
    version: connection.version,
    required: connection.required,
    limits: connection.limits,
    ...(await viewCatalogs(store, connection)),
    health: {
      state: connection.health.state,
      code: connection.health.code,
      at: viewTimeOrNull(connection.health.at),
    },
    createdAt: viewTime(connection.createdAt),
    updatedAt: viewTime(connection.updatedAt),
  }
}

function originOf({ endpointClear }: Connection): string {
  return endpointClear
    ? `${endpointClear.scheme}://${endpointClear.host}:${endpointClear.port}`
    : ''
}

function authOf(credential: Credential | undefined): View['auth'] {
  if (!credential) return 'none'
  return credential.clear.bearer ? 'bearer' : 'headers'
}

async function viewCatalogs(
  store: ApiDeps['store'],
  { id, publishedId, revision }: Connection,
): Promise<Pick<View, 'published' | 'observed'>> {
  const catalog = publishedId === null ? undefined : await store.catalogs.get(publishedId)
  const seen = await store.connections.observation(id)
  const isCurrent = seen?.connectionRevision === revision
  return {
    published: catalog ? { catalogId: catalog.id, number: catalog.number ?? 0 } : null,
    observed:
      seen && isCurrent
        ? {
            digest: seen.digest,
            at: viewTime(seen.at),
            drift: catalog !== undefined && catalog.digest !== seen.digest,
          }
        : null,
  }
}
