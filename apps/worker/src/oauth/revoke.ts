/** `oauth_revoke`: the authorization server is told that a grant is over (RFC 7009). */
import { SallyportError } from '@sallyport/protocol'
import type { OAuthBundle, OAuthRevoked } from '@sallyport/protocol/node'
import { authenticateClient } from './authenticate-client.ts'
import { grantPlaces, placesAnew } from './known-server.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { parseDocument } from './read-document.ts'
import { refusalOf } from './request-token.ts'
import type { Step } from './step.ts'

const needed = 'revocationEndpoint'

/** The refresh token goes first: with it a server ends the whole grant. Rejects with `oauth_*`, `upstream_*`. */
export async function revoke(step: Step): Promise<OAuthRevoked> {
  const { oauth: bundle, token: accessToken } = step.present?.secret ?? {}
  if (!bundle) throw new SallyportError('oauth_not_refreshable')
  const { revocationEndpoint: url } = await grantPlaces(step, bundle, needed)
  if (url === undefined) return { kind: 'not_offered' }
  try {
    return await tell(step, bundle, accessToken, url)
  } catch (thrown) {
    const { revocationEndpoint: other } = await placesAnew(step, bundle, needed, thrown)
    if (other === undefined || other === url) throw thrown
    // To revoke twice is to revoke once.
    return await tell(step, bundle, accessToken, other)
  }
}

async function tell(
  { http }: Step,
  { refreshToken, issuer, client }: OAuthBundle,
  accessToken: string | undefined,
  url: string,
): Promise<OAuthRevoked> {
  const words = await authenticateClient(client, issuer, http.now())
  let kind: OAuthRevoked['kind'] = 'not_offered'
  const tokens = [
    ['refresh_token', refreshToken],
    ['access_token', accessToken],
  ] as const
  for (const [hint, token] of tokens) {
    if (token === undefined) continue
    const body = new URLSearchParams({ token, token_type_hint: hint, ...words.form }).toString()
    if (await isRevoked(http, { url, headers: words.headers, body })) kind = 'revoked'
  }
  return { kind }
}

interface Telling {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** False where the server revokes no tokens of this kind. */
async function isRevoked(http: OAuthHttp, { url, headers, body: form }: Telling): Promise<boolean> {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const request = { method: 'POST', url, headers: { ...type, ...headers }, body: form } as const
  const { status, body } = await http.send(request)
  if (status === 200) return true
  if (status >= 500 || status === 429) throw new SallyportError('oauth_unavailable')
  const error = parseDocument(body)?.['error']
  if (error === 'unsupported_token_type') return false
  throw new SallyportError(typeof error === 'string' ? refusalOf(error) : 'oauth_protocol')
}
