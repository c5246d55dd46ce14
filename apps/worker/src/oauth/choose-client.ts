/**
 * Which client to be at an authorization server, in the order of the specification: registered by a person, a metadata
 * document of ours, registered by an earlier flow, registered now. A client is of one issuer and never used at another.
 */
import { SallyportError } from '@sallyport/protocol'
import {
  checkOAuthClient,
  type OAuthBegin,
  type OAuthClient,
  type OAuthClientSecret,
  type SealedOAuthClient,
} from '@sallyport/protocol/node'
import { isClient } from '../vault/read-oauth.ts'
import type { Vault } from '../vault/vault.ts'
import type { AuthorizationServer } from './find-server.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { registerClient } from './register-client.ts'

export interface ClientSearch {
  readonly http: OAuthHttp
  readonly vault: Pick<Vault, 'openSecret'>
  readonly server: AuthorizationServer
  /** Of the MCP server. */
  readonly destination: string
}

export interface ChosenClient {
  readonly client: OAuthClient
  /** It was registered just now, and is to be kept. */
  readonly registered?: OAuthClientSecret
}

type CodeBegin = Extract<OAuthBegin, { readonly grant: 'authorization_code' }>

/** Rejects with `oauth_no_registration`, as `ownClient` and as `registerClient`. */
export async function chooseClient(
  search: ClientSearch,
  request: CodeBegin,
): Promise<ChosenClient> {
  const { http, server } = search
  const { client, clientMetadataUrl, redirectUri } = request
  if (client) return { client: ownClient(search, openClient(search.vault, client)) }
  if (clientMetadataUrl !== undefined && server.takesMetadataDocuments)
    return { client: { clientId: clientMetadataUrl, authMethod: 'none' } }
  const known = request.registrations
    .filter(({ issuer }) => issuer === server.issuer)
    .map((sealed) => openClient(search.vault, sealed))
    .find((secret) => isFor(secret, redirectUri, http.now()))
  if (known) return { client: ownClient(search, known) }
  if (!server.registrationEndpoint) throw new SallyportError('oauth_no_registration')
  return await registerClient(http, server, redirectUri)
}

/** Throws `seal_unreadable`, `seal_mismatch`, `bad_secret`. */
export function openClient(
  vault: Pick<Vault, 'openSecret'>,
  { id, scope, version, seal, issuer }: SealedOAuthClient,
): OAuthClientSecret {
  const secret = vault.openSecret(seal, { kind: 'oauth_client', id, scope, version })
  if (!isClientSecret(secret)) throw new SallyportError('seal_unreadable')
  if (secret.issuer !== issuer) throw new SallyportError('seal_mismatch')
  checkOAuthClient(secret.client)
  return secret
}

/** Throws `oauth_client_mismatch`, `destination_refused` where its seal does not let it go. */
export function ownClient(
  { server, destination }: Pick<ClientSearch, 'server' | 'destination'>,
  { client, issuer, destinations }: OAuthClientSecret,
): OAuthClient {
  if (issuer === undefined && destinations === undefined)
    throw new SallyportError('destination_refused')
  if (issuer !== undefined && issuer !== server.issuer)
    throw new SallyportError('oauth_client_mismatch')
  if (destinations && !destinations.includes(destination))
    throw new SallyportError('destination_refused')
  return { ...client, authMethod: client.authMethod ?? methodFor(client, server.authMethods) }
}

function methodFor(
  client: OAuthClientSecret['client'],
  // RFC 8414 2: what a server that does not say takes.
  taken: readonly string[] = ['client_secret_basic'],
): OAuthClient['authMethod'] {
  if (client.privateKeyPem !== undefined) return 'private_key_jwt'
  if (client.clientSecret === undefined) return 'none'
  const isByPost = !taken.includes('client_secret_basic') && taken.includes('client_secret_post')
  return isByPost ? 'client_secret_post' : 'client_secret_basic'
}

/** What is about to expire is not begun with: a person is on the way. */
function isFor(secret: OAuthClientSecret, redirectUri: string, now: number): boolean {
  const lasts = secret.expiresAt === undefined || secret.expiresAt > now + 3_600_000
  return secret.redirectUri === redirectUri && lasts
}

function isClientSecret(secret: unknown): secret is OAuthClientSecret {
  const { client, destinations } = (secret ?? {}) as Partial<OAuthClientSecret>
  const isPlaced = destinations === undefined || Array.isArray(destinations)
  return isPlaced && (isClient(client) || isClient({ ...client, authMethod: 'none' }))
}
