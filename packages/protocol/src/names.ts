/** The rules for names, URLs and secrets. One function each: it runs where a secret is sealed and again in the worker. */
import { SallyportError } from './errors.ts'

const namePattern = /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])?$/
const reservedNames = new Set(['sallyport', 'mcp'])

export function isConnectionName(name: string): boolean {
  return namePattern.test(name) && !reservedNames.has(name)
}

/** What may be shown of an endpoint; `port` is always set. */
export interface Origin {
  readonly scheme: 'https' | 'http'
  readonly host: string
  readonly port: number
}

export interface Endpoint extends Origin {
  /** Normalized, without fragment. */
  readonly url: string
}

export const urlLimit = 2048

/** C0, DEL and C1. */
const control = /\p{Cc}/u

/**
 * Parses and normalizes the URL of an upstream. Throws `bad_url`.
 * `localAllowed`: plain http toward this machine, with an explicit port, passes (the worker decides again).
 */
export function parseEndpoint(text: string, localAllowed: boolean): Endpoint {
  const bad = (): never => {
    throw new SallyportError('bad_url', { field: 'url' })
  }
  if (text.length > urlLimit * 2 || control.test(text) || !URL.canParse(text)) return bad()
  const url = new URL(text)
  if (url.username || url.password || text.includes('#')) return bad()
  if (byteLength(url.href) > urlLimit) return bad()
  const host = url.hostname.replace(/\.$/, '')
  if (host === '' || host.endsWith('.')) return bad()
  if (url.protocol === 'https:') {
    return { scheme: 'https', host, port: Number(url.port || 443), url: url.href }
  }
  const explicitPort = /^http:\/\/[^/?]*:\d+(?:[/?]|$)/i.test(text.trim())
  if (url.protocol !== 'http:' || !localAllowed || !explicitPort || !isLoopbackHost(host))
    return bad()
  return { scheme: 'http', host, port: Number(url.port || 80), url: url.href }
}

/** Where a secret of this URL may go: origin and path of the normalized URL, without query. */
export function destinationOf(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

/** UTF-8 length without Node's Buffer, so that a page can run the same rule. */
function byteLength(text: string): number {
  return new TextEncoder().encode(text).length
}

export const secretLimit = 8192

/** Throws `bad_secret` unless 1 to 8,192 bytes without control characters (which would end a header line). */
export function checkSecret(secret: string, field: string): void {
  const size = byteLength(secret)
  if (size < 1 || size > secretLimit || control.test(secret) || !secret.isWellFormed())
    throw new SallyportError('bad_secret', { field })
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Throws `bad_secret` unless base64 of 24 to 64 bytes, which Standard Webhooks asks of the key of a signature. */
export function checkWebhookSecret(secret: string): void {
  const padding = secret.endsWith('==') ? 2 : secret.endsWith('=') ? 1 : 0
  const size = (secret.length / 4) * 3 - padding
  if (size < 24 || size > 64 || !base64.test(secret))
    throw new SallyportError('bad_secret', { field: 'secret' })
}

export const headerLimit = 10
const headerToken = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const reservedHeaders = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  // One value for every call: a server that knows repetitions would take each call after the first for one.
  'idempotency-key',
  'last-event-id',
  'transfer-encoding',
])

/** Throws `bad_header` for a name Sallyport sets itself, one that is no token, too many, or one given twice. */
export function checkHeaderNames(names: readonly string[], besideBearer: boolean): void {
  const seen = new Set<string>()
  for (const name of names) {
    const lower = name.toLowerCase()
    const reserved =
      reservedHeaders.has(lower) ||
      lower.startsWith('mcp-') ||
      (besideBearer && lower === 'authorization')
    if (reserved || !headerToken.test(name) || seen.has(lower))
      throw new SallyportError('bad_header', { field: 'headers' })
    seen.add(lower)
  }
  if (names.length > headerLimit) throw new SallyportError('bad_header', { field: 'headers' })
}
