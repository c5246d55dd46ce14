/** Dynamic client registration (RFC 7591). */
import { SallyportError } from '@sallyport/protocol'
import {
  checkOAuthClient,
  type OAuthClient,
  type OAuthClientSecret,
  type TokenAuthMethod,
  tokenAuthMethods,
} from '@sallyport/protocol/node'
import type { ChosenClient } from './choose-client.ts'
import { defined } from './defined.ts'
import type { AuthorizationServer } from './find-server.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { type Document, parseDocument } from './read-document.ts'

/**
 * A secret first: then the server need not rotate refresh tokens, and a lost answer costs no sign-in. Nothing we could
 * sign with is registered.
 */
const preferred = ['client_secret_basic', 'client_secret_post', 'none'] as const

/** Rejects with `oauth_registration_refused`, `oauth_unavailable`, `upstream_*`. */
export async function registerClient(
  http: OAuthHttp,
  server: AuthorizationServer,
  redirectUri: string,
): Promise<ChosenClient> {
  const taken = server.authMethods
  const authMethod = preferred.find((one) => taken?.includes(one)) ?? preferred[0]
  const { status, body } = await http.send({
    method: 'POST',
    url: server.registrationEndpoint?.url ?? '',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'Sallyport',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: authMethod,
      // OpenID takes a client for a web application otherwise, and refuses it a redirect to this machine.
      application_type: redirectUri.startsWith('https:') ? 'web' : 'native',
    }),
  })
  if (status >= 500 || status === 429) throw new SallyportError('oauth_unavailable')
  const document = status === 201 || status === 200 ? parseDocument(body) : undefined
  if (!document) throw new SallyportError('oauth_registration_refused')
  const client = readClient(document, authMethod, redirectUri)
  const expiresAt = expiryOf(document)
  const registered: OAuthClientSecret = { client, issuer: server.issuer, redirectUri }
  return { client, registered: { ...registered, ...defined({ expiresAt }) } }
}

/** A server may give something else than it was asked for. */
function readClient(document: Document, asked: TokenAuthMethod, redirectUri: string): OAuthClient {
  const clientId = document['client_id']
  const clientSecret = document['client_secret'] ?? undefined
  const given = document['token_endpoint_auth_method'] ?? asked
  const uris = document['redirect_uris']
  const authMethod = tokenAuthMethods.find((one) => one === given)
  const isOurs = !Array.isArray(uris) || uris.length === 0 || uris.includes(redirectUri)
  const isText = typeof clientId === 'string' && typeof (clientSecret ?? '') === 'string'
  if (!isText || !isOurs || authMethod === undefined || authMethod === 'private_key_jwt')
    throw new SallyportError('oauth_registration_refused')
  const secret = authMethod === 'none' ? undefined : (clientSecret as string | undefined)
  const client = { clientId, authMethod, ...defined({ clientSecret: secret }) }
  try {
    checkOAuthClient(client)
  } catch (cause) {
    throw new SallyportError('oauth_registration_refused', { cause })
  }
  return client
}

/** Seconds since 1970 there; 0 is never. */
function expiryOf(document: Document): number | undefined {
  const seconds = document['client_secret_expires_at']
  return typeof seconds === 'number' && seconds > 0 ? Math.floor(seconds) * 1_000 : undefined
}
