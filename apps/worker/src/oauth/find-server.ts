/** Fetches what an authorization server publishes about itself (RFC 8414, OpenID Connect Discovery). */
import { type Endpoint, type Origin, SallyportError, toSallyportError } from '@sallyport/protocol'
import type { OAuthHttp } from './oauth-http.ts'
import { type Document, placeOf, readPlace, textOf, textsOf } from './read-document.ts'
import { serverPlaces } from './well-known.ts'

export interface AuthorizationServer {
  /** Exactly as it names itself: it is compared, never normalized. */
  readonly issuer: string
  readonly authorizationEndpoint: Endpoint | undefined
  readonly tokenEndpoint: Endpoint
  readonly registrationEndpoint: Endpoint | undefined
  readonly revocationEndpoint: Endpoint | undefined
  readonly userinfoEndpoint: Endpoint | undefined
  readonly jwksUri: Endpoint | undefined
  readonly scopes: readonly string[] | undefined
  readonly hasS256: boolean
  /** It announces `iss` in its answers (RFC 9207). */
  readonly hasIss: boolean
  readonly takesMetadataDocuments: boolean
  /** What its token endpoint takes; undefined when it does not say. */
  readonly authMethods: readonly string[] | undefined
  /** Where all this is. */
  readonly places: readonly Origin[]
}

/** Rejects with `oauth_metadata_invalid`, `oauth_issuer_mismatch`, `upstream_*`. */
export async function findServer(http: OAuthHttp, issuer: string): Promise<AuthorizationServer> {
  const { url } = readPlace(issuer, http.localAllowed)
  // RFC 8414 2: an issuer has neither query nor fragment.
  if (new URL(url).search !== '') throw new SallyportError('oauth_metadata_invalid')
  let problem = new SallyportError('oauth_metadata_invalid')
  for (const place of serverPlaces(url)) {
    const document = await http.find(place)
    if (!document) continue
    try {
      return readServer(document, issuer, http.localAllowed)
    } catch (thrown) {
      problem = toSallyportError(thrown)
    }
  }
  throw problem
}

function readServer(
  document: Document,
  issuer: string,
  localAllowed: boolean,
): AuthorizationServer {
  if (textOf(document, 'issuer') !== issuer) throw new SallyportError('oauth_issuer_mismatch')
  const place = (name: string) => placeOf(document, name, localAllowed)
  const tokenEndpoint = place('token_endpoint')
  if (!tokenEndpoint) throw new SallyportError('oauth_metadata_invalid')
  const endpoints = {
    authorizationEndpoint: place('authorization_endpoint'),
    tokenEndpoint,
    registrationEndpoint: place('registration_endpoint'),
    revocationEndpoint: place('revocation_endpoint'),
    userinfoEndpoint: place('userinfo_endpoint'),
    jwksUri: place('jwks_uri'),
  }
  return {
    issuer,
    ...endpoints,
    scopes: textsOf(document, 'scopes_supported'),
    hasS256: textsOf(document, 'code_challenge_methods_supported')?.includes('S256') === true,
    hasIss: document['authorization_response_iss_parameter_supported'] === true,
    takesMetadataDocuments: document['client_id_metadata_document_supported'] === true,
    authMethods: textsOf(document, 'token_endpoint_auth_methods_supported'),
    places: originsOf([readPlace(issuer, localAllowed), ...Object.values(endpoints)]),
  }
}

/** Each once. */
export function originsOf(places: readonly (Origin | undefined)[]): readonly Origin[] {
  const origins = new Map<string, Origin>()
  for (const place of places) {
    if (!place) continue
    const { scheme, host, port } = place
    origins.set(`${scheme}://${host}:${port}`, { scheme, host, port })
  }
  return [...origins.values()]
}
