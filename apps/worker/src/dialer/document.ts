/**
 * Fetches one small document: discovery, registrations, tokens. One request, one answer, read whole, no redirect, over
 * the dialer, so that a document that names another place cannot lead where an upstream could not.
 */
import { parseEndpoint, release, SallyportError } from '@sallyport/protocol'
import { Connections } from '../http/connections.ts'
import { Exchange, type Listener, type ResponseHeaders } from '../http/exchange.ts'
import type { Dialer } from './dialer.ts'

export interface DocumentRequest {
  readonly method: 'GET' | 'POST'
  /** Judged here, wherever it was read. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
  /** The connection this is fetched for, as the dialer knows it. */
  readonly subject?: string | undefined
  /** The last act before the first byte, and the sign that one left. What it throws keeps the request from leaving. */
  readonly before?: () => void
}

export interface DocumentLimits {
  readonly maxBytes: number
  /** From now to the last byte: resolving and connecting are in it. */
  readonly totalMs: number
}

export interface DocumentAnswer {
  /** Of 2xx, 4xx or 5xx: a refusal is read like an answer, because it says why. */
  readonly status: number
  /** Names in lower case; what was said several times is joined with a comma. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** What belongs to the connection, or would let an answer come in a form that is not counted. */
const ownHeaders =
  /^(?:accept-encoding|connection|content-length|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/

/**
 * Rejects with `bad_url`, with `bad_header` for a value that cannot be written, and with `upstream_*` otherwise; a
 * redirect and a compressed answer are `upstream_protocol`. Throws TypeError for a header that is not the caller's.
 */
export async function requestDocument(
  dialer: Pick<Dialer, 'connect' | 'clock' | 'localAllowed'>,
  request: DocumentRequest,
  limits: DocumentLimits,
): Promise<DocumentAnswer> {
  const { clock, localAllowed } = dialer
  const headers = headersOf(request.headers)
  const origin = parseEndpoint(request.url, localAllowed)
  const { pathname, search } = new URL(origin.url)
  const reader = new DocumentReader(limits.maxBytes, request.before)
  const connection = new Connections({ origin, subject: request.subject, dialer, clock }).single()
  const body = request.body === undefined ? {} : { body: Buffer.from(request.body) }
  const sent = new Exchange({
    request: { method: request.method, path: `${pathname}${search}`, headers, ...body },
    listener: reader,
    clock,
  })
  const cancel = clock.after(limits.totalMs, () => sent.stop('upstream_timeout'))
  try {
    sent.start(connection, () => {})
    await sent.ended
    return reader.answer()
  } finally {
    cancel()
    void connection.destroy()
  }
}

class DocumentReader implements Listener {
  readonly before: () => void
  readonly #maxBytes: number
  readonly #parts: Buffer[] = []
  #bytes = 0
  #status = 0
  #headers: ReadonlyMap<string, string> = new Map()

  constructor(maxBytes: number, before: () => void = () => {}) {
    this.#maxBytes = maxBytes
    this.before = before
  }

  head(status: number, headers: ResponseHeaders): void {
    this.#headers = mapOf(headers)
    const encoding = this.#headers.get('content-encoding') ?? 'identity'
    const isRedirect = status >= 300 && status < 400
    if (isRedirect || encoding.toLowerCase() !== 'identity')
      throw new SallyportError('upstream_protocol')
    this.#status = status
    this.#count(Number(this.#headers.get('content-length') ?? 0))
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    this.#count(this.#bytes)
    this.#parts.push(chunk)
  }

  answer(): DocumentAnswer {
    return { status: this.#status, headers: this.#headers, body: Buffer.concat(this.#parts) }
  }

  #count(bytes: number): void {
    if (bytes > this.#maxBytes) throw new SallyportError('upstream_too_large')
  }
}

/** Name, value, name, value. */
function headersOf(given: DocumentRequest['headers']): string[] {
  const wanted = Object.entries(given).map(([name, value]) => [name.toLowerCase(), value] as const)
  const own = wanted.find(([name]) => ownHeaders.test(name))
  if (own) throw new TypeError(`${own[0]} is not the caller's to set`)
  const all = new Map([['user-agent', `sallyport/${release}`], ...wanted])
  return ['accept-encoding', 'identity', ...[...all].flat()]
}

function mapOf(headers: ResponseHeaders): ReadonlyMap<string, string> {
  const said = Object.entries(headers).filter(([, value]) => value !== undefined)
  return new Map(said.map(([name, value]) => [name.toLowerCase(), [value].flat().join(', ')]))
}
