/** Who signed in, as OpenID says it. */
import { SallyportError } from '@sallyport/protocol'
import type { JSONWebKeySet } from 'jose'
import type { OAuthHttp } from './oauth-http.ts'
import type { Document } from './read-document.ts'

export interface IdTokenIssuer {
  readonly issuer: string
  readonly clientId: string
}

const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]
const toleranceSeconds = 60

/**
 * The claims of an id token whose signature holds. Undefined when it is signed with a shared secret or not at all: then
 * it says nothing that could be checked. Rejects with `oauth_identity_invalid`, `upstream_*`.
 */
export async function verifyIdToken(
  http: OAuthHttp,
  idToken: string,
  jwksUri: string,
  { issuer, clientId }: IdTokenIssuer,
): Promise<Document | undefined> {
  const { createLocalJWKSet, decodeProtectedHeader, jwtVerify } = await import('jose')
  const { alg } = believed(() => decodeProtectedHeader(idToken))
  if (alg === undefined || !algorithms.includes(alg)) return undefined
  const keys = await http.find(jwksUri)
  try {
    const keySet = createLocalJWKSet(keys as unknown as JSONWebKeySet)
    const { payload } = await jwtVerify(idToken, keySet, {
      issuer,
      audience: clientId,
      algorithms,
      clockTolerance: toleranceSeconds,
      currentDate: new Date(http.now()),
      requiredClaims: ['sub', 'exp', 'iat'],
    })
    return checkParty(payload, clientId)
  } catch (cause) {
    throw new SallyportError('oauth_identity_invalid', { cause })
  }
}

/**
 * The claims of an id token of a refresh, without its signature: it came straight from the token endpoint over TLS,
 * which OpenID Connect Core 3.1.3.7 takes instead. So a refresh is one request, and no lost set of keys can lose a
 * refresh token that was rotated. Rejects with `oauth_identity_invalid`.
 */
export async function readIdToken(
  idToken: string,
  { issuer, clientId }: IdTokenIssuer,
): Promise<Document> {
  const { decodeJwt } = await import('jose')
  const claims = believed(() => decodeJwt(idToken))
  const isForUs = [claims.aud].flat().includes(clientId)
  if (claims.iss !== issuer || !isForUs) throw new SallyportError('oauth_identity_invalid')
  return checkParty(claims, clientId)
}

/** OpenID Connect Core 3.1.3.7, 4 and 5: of several audiences, it must be us that it was issued to. */
function checkParty(claims: Document, clientId: string): Document {
  const { aud, azp } = claims
  const isOurs = azp === undefined ? [aud].flat().length === 1 : azp === clientId
  if (!isOurs) throw new SallyportError('oauth_identity_invalid')
  return claims
}

function believed<T>(decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    throw new SallyportError('oauth_identity_invalid', { cause })
  }
}
