/** One request to a token endpoint, and what its answer means. */
import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import type { OAuthClient } from '@sallyport/protocol/node'
import { authenticateClient } from './authenticate-client.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { type Document, parseDocument } from './read-document.ts'
import { readScope } from './scope.ts'

export interface TokenPlace {
  readonly tokenEndpoint: string
  readonly issuer: string
  readonly client: OAuthClient
}

export interface TokenAnswer {
  readonly accessToken: string
  readonly refreshToken: string | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number | undefined
  readonly oauthScope: string | undefined
  readonly idToken: string | undefined
  /** All of it: a server may name the account in members of its own. */
  readonly members: Document
}

/** Those of RFC 6749 5.2 that say more than that the request is refused. */
const refusals: Readonly<Record<string, ErrorCode>> = {
  invalid_grant: 'oauth_invalid_grant',
  invalid_client: 'oauth_invalid_client',
  temporarily_unavailable: 'oauth_unavailable',
  server_error: 'oauth_unavailable',
  slow_down: 'oauth_unavailable',
}

/** Rejects with the code of a refusal, `oauth_unavailable`, `oauth_protocol`, `oauth_token_unusable`, `upstream_*`. */
export async function requestToken(
  http: OAuthHttp,
  { tokenEndpoint, issuer, client }: TokenPlace,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  const askedAt = http.now()
  const words = await authenticateClient(client, issuer, askedAt)
  const { status, body } = await http.send({
    method: 'POST',
    url: tokenEndpoint,
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...words.headers,
    },
    body: new URLSearchParams({ ...parameters, ...words.form }).toString(),
  })
  if (status >= 500 || status === 429) throw new SallyportError('oauth_unavailable')
  const document = parseDocument(body)
  if (!document) throw new SallyportError('oauth_protocol')
  // Some servers refuse with 200.
  const { error } = document
  if (typeof error === 'string' && isAnswer(status, error))
    throw new SallyportError(refusalOf(error))
  if (status !== 200) throw new SallyportError('oauth_protocol')
  return readAnswer(document, askedAt)
}

/** RFC 6749 5.2, RFC 8707 2. */
const tokenErrors = [
  ...['invalid_request', 'invalid_client', 'invalid_grant', 'unauthorized_client'],
  ...['unsupported_grant_type', 'invalid_scope', 'invalid_target'],
]

/** False for what a server says where there is no token endpoint any more: that says nothing of the grant. */
function isAnswer(status: number, error: string): boolean {
  return ![404, 405, 410].includes(status) || tokenErrors.includes(error)
}

export function refusalOf(error: string): ErrorCode {
  return (Object.hasOwn(refusals, error) ? refusals[error] : undefined) ?? 'oauth_refused'
}

/** It goes into a header. */
const sendable = /^[\x21-\x7e]{1,8000}$/
const longestRefreshToken = 8_192
const longestLifeSeconds = 10 * 365 * 86_400

function readAnswer(members: Document, askedAt: number): TokenAnswer {
  const { access_token, token_type, refresh_token = undefined, id_token } = members
  // RFC 6749 7.1: a token of a kind that is not understood must not be used.
  const isBearer = typeof token_type === 'string' && token_type.toLowerCase() === 'bearer'
  if (typeof access_token !== 'string') throw new SallyportError('oauth_protocol')
  if (!isBearer || !sendable.test(access_token)) throw new SallyportError('oauth_token_unusable')
  return {
    accessToken: access_token,
    refreshToken: readRefreshToken(refresh_token),
    expiresAt: readExpiry(members['expires_in'], askedAt),
    oauthScope: readScope(members['scope']),
    idToken: typeof id_token === 'string' ? id_token : undefined,
    members,
  }
}

function readRefreshToken(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > longestRefreshToken)
    throw new SallyportError('oauth_protocol')
  return value
}

/** Counted from before it was asked for, so that it never seems to live longer than it does. */
function readExpiry(value: unknown, askedAt: number): number | undefined {
  const seconds = typeof value === 'string' && /^\d{1,10}$/.test(value) ? Number(value) : value
  if (typeof seconds !== 'number' || !(seconds >= 0)) return undefined
  return askedAt + Math.floor(Math.min(seconds, longestLifeSeconds)) * 1_000
}
