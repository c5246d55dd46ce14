import {
  type Actor,
  type Connection,
  type Credential,
  conditionOf,
  hasDrifted,
  mayUse,
  type OAuthConnection,
  type RecordedHealth,
  readHealth,
} from '@sallyport/core'
import type { Answer } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

type View = Answer<'connection.show'>

/** Of a personal connection another than its owner sees that it exists, not where it leads nor how. */
export async function viewConnection(
  { store, now }: Pick<ApiDeps, 'store' | 'now'>,
  actor: Actor,
  connection: Connection,
): Promise<View> {
  const recorded = await readHealth(store, connection)
  const { credential, oauth } = recorded
  const isOpen = mayUse(actor, connection)
  const catalogs = await viewCatalogs(store, recorded)
  return {
    id: connection.id,
    name: connection.name,
    state: connection.state,
    scope: connection.scope,
    ownerId: connection.ownerId,
    transport: connection.transport,
    endpoint: isOpen ? originOf(connection) : '',
    auth: authOf(credential, oauth),
    headerNames: isOpen ? [...(credential?.clear.headerNames ?? [])] : [],
    credential: credential
      ? {
          id: credential.id,
          version: credential.version,
          state: credential.state,
          oauth: isOpen ? viewOAuth(credential) : null,
        }
      : null,
    missingScopes: isOpen ? [...(oauth?.scopeRequired ?? [])] : [],
    revision: connection.revision,
    version: connection.version,
    required: connection.required,
    limits: connection.limits,
    ...catalogs,
    health: {
      state: connection.health.state,
      code: connection.health.code,
      at: viewTimeOrNull(connection.health.at),
    },
    condition: conditionOf(recorded, now()).condition,
    createdAt: viewTime(connection.createdAt),
    updatedAt: viewTime(connection.updatedAt),
  }
}

function originOf({ endpointClear }: Connection): string {
  return endpointClear
    ? `${endpointClear.scheme}://${endpointClear.host}:${endpointClear.port}`
    : ''
}

function authOf(
  credential: Credential | undefined,
  oauth: OAuthConnection | undefined,
): View['auth'] {
  if (oauth) return oauth.grantType === 'client_credentials' ? oauth.grantType : 'oauth'
  if (!credential) return 'none'
  return credential.clear.bearer ? 'bearer' : 'headers'
}

function viewOAuth({ clear }: Credential): NonNullable<View['credential']>['oauth'] {
  if (!clear.oauth) return null
  const { issuerHost, refreshable, expiresAt = null, account = null, oauthScope = '' } = clear.oauth
  return {
    issuerHost,
    refreshable,
    expiresAt: viewTimeOrNull(expiresAt),
    account,
    scopes: oauthScope.split(' ').filter((one) => one !== ''),
  }
}

async function viewCatalogs(
  store: ApiDeps['store'],
  recorded: RecordedHealth,
): Promise<Pick<View, 'published' | 'observed'>> {
  const { publishedId, revision } = recorded.connection
  const catalog = publishedId === null ? undefined : await store.catalogs.get(publishedId)
  const seen = recorded.observation
  const isCurrent = seen?.connectionRevision === revision
  return {
    published: catalog ? { catalogId: catalog.id, number: catalog.number ?? 0 } : null,
    observed:
      seen && isCurrent
        ? {
            digest: seen.digest,
            at: viewTime(seen.at),
            drift: hasDrifted(recorded),
          }
        : null,
  }
}
