/** What of a guest's request goes on to its model: never what could speak for somebody else, never to another path. */
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { SallyportError } from '@sallyport/protocol'
import type { ModelUpstream } from './model-upstream.ts'

const methods = new Set(['GET', 'HEAD', 'POST'])

/** Of one connection (RFC 9110, 7.6.1), or written anew. */
const ofConnection = new Set([
  'connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
  'host',
  'content-length',
  'http2-settings',
])
/** Whatever a service takes as proof of who asks, and what some let stand for another method. */
const speaking =
  /authorization|api[-_]?key|cookie|credential|secret|token$|^proxy-|^x-(?:http-)?method|^x-goog-user-project$/
const speakingParameters =
  /^\$?(?:key|api[-_]?key|access[-_]?token|oauth[-_]?token|token|authorization|user-?project|http-?method)$/i

export interface RelayedRequest {
  readonly method: string
  readonly path: string
  readonly headers: OutgoingHttpHeaders
}

/** Throws `model_refused`. */
export function relayedRequest(
  { method = '', url = '', headers }: IncomingMessage,
  upstream: ModelUpstream,
  key: string | undefined,
): RelayedRequest {
  if (!methods.has(method)) throw new SallyportError('model_refused')
  const length = headers['content-length']
  return {
    method,
    path: relayedPath(url, upstream.prefix),
    headers: {
      ...relayedHeaders(headers),
      host: upstream.authority,
      ...(length === undefined ? {} : { 'content-length': length }),
      ...authorization(upstream, key),
    },
  }
}

/** Also of what comes back. */
export function relayedHeaders(headers: IncomingMessage['headers']): OutgoingHttpHeaders {
  const named = (headers.connection ?? '').toLowerCase().split(/\s*,\s*/)
  const isLeft = (name: string): boolean =>
    ofConnection.has(name) || named.includes(name) || speaking.test(name)
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !isLeft(name)))
}

function authorization({ header }: ModelUpstream, key: string | undefined): OutgoingHttpHeaders {
  if (key === undefined) return {}
  return { [header]: header === 'authorization' ? `Bearer ${key}` : key }
}

/**
 * The path as it was asked for, without parameters that carry a key. Only what reads the same to everybody passes: a
 * segment that is a dot in disguise, or a slash, leads elsewhere for some servers.
 */
export function relayedPath(target: string, prefix: string): string {
  const [path = '', ...queries] = target.split('?')
  const isPlain = /^\/[\x21\x24-\x3b\x3d\x40-\x5a\x5f\x61-\x7a\x7e%]*$/.test(path)
  if (!isPlain || !path.startsWith(prefix) || !segmentsOf(path).every(isSegment))
    throw new SallyportError('model_refused')
  if (queries.length === 0) return path
  const query = queries.join('?')
  if (!/^[\x21\x24-\x7e]*$/.test(query)) throw new SallyportError('model_refused')
  const kept = query.split('&').filter((one) => !speakingParameters.test(nameOf(one)))
  return kept.length === 0 ? path : `${path}?${kept.join('&')}`
}

const segmentsOf = (path: string): string[] => path.split('/').slice(1)

function isSegment(segment: string, index: number, all: readonly string[]): boolean {
  if (segment === '') return index === all.length - 1
  const plain = decoded(segment)
  return !/^\.{1,2}$/.test(plain.split(';')[0] ?? '') && !/[/\\%\p{Cc}]/u.test(plain)
}

function nameOf(parameter: string): string {
  return decoded((parameter.split('=')[0] ?? '').replaceAll('+', ' ')).trim()
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (cause) {
    throw new SallyportError('model_refused', { cause })
  }
}
