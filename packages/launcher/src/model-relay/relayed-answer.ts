import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { SallyportError } from '@sallyport/protocol'
import type { ModelUpstream } from './model-upstream.ts'
import { relayedHeaders, relayedPath } from './relayed-request.ts'

export interface RelayedAnswer {
  readonly status: number
  readonly headers: OutgoingHttpHeaders
}

/** Of the service's own connections and places: nothing a guest could use. */
const ofService = ['alt-svc', 'strict-transport-security', 'set-cookie', 'set-cookie2']

/**
 * A redirection within what is relayed is handed back, to be asked for here; nobody follows one for the guest. Throws
 * `model_refused` for one that leads elsewhere.
 */
export function relayedAnswer(
  answer: IncomingMessage,
  path: string,
  upstream: ModelUpstream,
): RelayedAnswer {
  const { statusCode: status = 502 } = answer
  const headers = relayedHeaders(answer.headers)
  for (const name of ofService) delete headers[name]
  const length = answer.headers['content-length']
  if (length !== undefined) headers['content-length'] = length
  const { location } = answer.headers
  if (location !== undefined) headers['location'] = locationHere(location, path, upstream)
  return { status, headers }
}

function locationHere(location: string, path: string, upstream: ModelUpstream): string {
  const scheme = upstream.isPlain ? 'http' : 'https'
  const own = `${scheme}://${upstream.authority}`
  if (!URL.canParse(location, own + path)) throw new SallyportError('model_refused')
  const { origin, pathname, search } = new URL(location, own + path)
  if (origin !== new URL(own).origin) throw new SallyportError('model_refused')
  return relayedPath(pathname + search, upstream.prefix)
}
