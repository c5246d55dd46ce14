/** Asks an MCP server, without a token, who gives tokens for it (RFC 9728). */
import {
  type Endpoint,
  meta,
  modernVersion,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import { clientInfo } from '../upstream/requests.ts'
import { type Challenge, readChallenge } from './challenge.ts'
import type { OAuthHttp } from './oauth-http.ts'
import { type Document, readPlace, textOf, textsOf } from './read-document.ts'
import { resourcePlaces } from './well-known.ts'

export interface ProtectedResource {
  /** As the server publishes it, to be sent unchanged. */
  readonly resource: string
  /** At least one. */
  readonly issuers: readonly string[]
  readonly scopes: readonly string[] | undefined
  readonly challengedScope: string | undefined
  /** Where its metadata was. */
  readonly place: Endpoint
}

/** Rejects with `oauth_not_offered`, `oauth_metadata_invalid`, `oauth_resource_mismatch`, `upstream_*`. */
export async function findResource(
  http: OAuthHttp,
  endpoint: Endpoint,
): Promise<ProtectedResource> {
  const { resourceMetadata, scope } = await askWithoutToken(http, endpoint)
  const places = resourceMetadata === undefined ? resourcePlaces(endpoint.url) : [resourceMetadata]
  let problem = new SallyportError('oauth_not_offered')
  for (const text of places) {
    const place = readPlace(text, http.localAllowed)
    const document = await http.find(place.url)
    if (!document) continue
    try {
      return { ...readResource(document, endpoint), challengedScope: scope, place }
    } catch (thrown) {
      problem = toSallyportError(thrown)
    }
  }
  throw problem
}

/** Not even a legacy server needs a session to say that it wants a token. */
async function askWithoutToken(http: OAuthHttp, endpoint: Endpoint): Promise<Challenge> {
  const words = {
    [meta.protocolVersion]: modernVersion,
    [meta.clientInfo]: clientInfo,
    [meta.clientCapabilities]: {},
  }
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: words } }
  try {
    const { status, headers } = await http.send({
      method: 'POST',
      url: endpoint.url,
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-protocol-version': modernVersion,
        'mcp-method': 'tools/list',
      },
      body: JSON.stringify(message),
    })
    return status === 401 ? readChallenge(headers.get('www-authenticate')) : {}
  } catch (thrown) {
    const { code } = toSallyportError(thrown)
    // It answered, with something that is no refusal: the known places may say more.
    if (['upstream_protocol', 'upstream_too_large', 'upstream_timeout'].includes(code)) return {}
    throw thrown
  }
}

function readResource(
  document: Document,
  endpoint: Endpoint,
): Pick<ProtectedResource, 'resource' | 'issuers' | 'scopes'> {
  const resource = textOf(document, 'resource')
  const issuers = textsOf(document, 'authorization_servers')
  if (resource === undefined || !issuers?.length) throw new SallyportError('oauth_metadata_invalid')
  if (!covers(resource, endpoint.url)) throw new SallyportError('oauth_resource_mismatch')
  return { resource, issuers, scopes: textsOf(document, 'scopes_supported') }
}

/**
 * A token for another server's resource would be that server's to misuse. It is this server's when it is its own URL, or
 * one on the same origin that its path begins with, as servers publish that are one resource as a whole.
 */
function covers(resource: string, endpointUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const [one, other] = [new URL(resource), new URL(endpointUrl)]
  const isSameOrigin = one.origin === other.origin && one.username === '' && one.password === ''
  const base = one.pathname.replace(/\/$/, '')
  const isSamePath = other.pathname === base || other.pathname.startsWith(`${base}/`)
  return isSameOrigin && isSamePath && (one.search === '' || one.search === other.search)
}
