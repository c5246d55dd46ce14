/** Answers as bytes on the wire: one JSON body, or a refusal that leaves the rest of the request unread. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type ErrorCode, errors } from '@sallyport/protocol'
import type { Timing } from './timing.ts'

export interface Refusal {
  readonly status: number
  /** JSON-RPC code; null when the answer has no JSON body. */
  readonly code: number | null
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
  readonly data?: unknown
}

export function refusalOf(code: ErrorCode, headers?: Readonly<Record<string, string>>): Refusal {
  const { http, rpc, text } = errors[code]
  return { status: http, code: rpc, message: text, ...(headers ? { headers } : {}) }
}

/** JSON text of an error response. `id` is JSON text too. */
function errorText(id: string | undefined, { code, message, data }: Refusal): string {
  const error = JSON.stringify({ code, message, ...(data === undefined ? {} : { data }) })
  return `{"jsonrpc":"2.0","id":${id ?? 'null'},"error":${error}}`
}

/** `body`: JSON text, or its parts in order. */
export function answerJson(
  res: ServerResponse,
  status: number,
  body: string | readonly Buffer[],
  timing: Timing,
  headers?: Readonly<Record<string, string>>,
): void {
  if (!isUnanswered(res)) return
  const length = typeof body === 'string' ? Buffer.byteLength(body) : lengthOf(body)
  res.writeHead(status, {
    'content-type': 'application/json',
    'content-length': length,
    ...headers,
  })
  if (typeof body === 'string') res.end(body)
  // Node joins headers and a Latin-1 string into one write; bytes one to one, and half the cost of two.
  else if (length <= joinLimit) res.end(Buffer.concat(body).toString('latin1'), 'latin1')
  else endInParts(res, body)
  watchReader(res, timing)
}

const joinLimit = 16_384

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0)
}

/** Large parts leave as they are, in one system call. */
function endInParts(res: ServerResponse, parts: readonly Buffer[]): void {
  res.cork()
  for (const part of parts.slice(0, -1)) res.write(part)
  res.end(parts.at(-1))
}

export function answerError(
  res: ServerResponse,
  id: string | undefined,
  refusal: Refusal,
  timing: Timing,
): void {
  answerJson(res, refusal.status, errorText(id, refusal), timing, refusal.headers)
}

export function answerEmpty(res: ServerResponse, status: 202 | 204): void {
  if (!isUnanswered(res)) return
  res.writeHead(status, status === 202 ? { 'content-length': 0 } : {})
  res.end()
}

/** Refuses a request whose body was not read, or not to its end. Nothing more is read from that connection. */
export function refuseUnread(
  req: IncomingMessage,
  res: ServerResponse,
  refusal: Refusal,
  timing: Timing,
): void {
  if (!isUnanswered(res)) return
  const hasBody = 'content-length' in req.headers || 'transfer-encoding' in req.headers
  const close = hasBody && !req.complete
  if (close) lingerOnClose(req, timing)
  const headers = { ...refusal.headers, ...(close ? { connection: 'close' } : {}) }
  const isText = refusal.code === null
  const body = isText ? refusal.message : errorText(undefined, refusal)
  const type = isText ? { 'content-type': 'text/plain; charset=utf-8' } : {}
  answerJson(res, refusal.status, body, timing, { ...headers, ...type })
}

/** False when nobody is there, or an answer has begun that can only be cut off now. */
function isUnanswered(res: ServerResponse): boolean {
  if (res.headersSent && !res.writableEnded) res.destroy()
  return !res.headersSent && !res.closed
}

/**
 * A connection that is closed while unread bytes wait is reset, and a reset can take the answer with it. So the answer goes
 * out, then our end is closed, and the guest has a moment to read before the rest is cut off.
 */
function lingerOnClose(req: IncomingMessage, timing: Timing): void {
  const { socket } = req
  // Node reads and drops what is left of a body that nobody began to read.
  req.read(0)
  socket.destroySoon = () => {
    socket.pause()
    socket.end()
    setTimeout(() => socket.destroy(), timing.lingerMs).unref()
  }
}

/** Cuts the guest off when it takes nothing of what waits for it. Node counts bytes that leave as activity. */
export function watchReader(res: ServerResponse, timing: Timing): void {
  const { socket } = res
  // A pipelined answer has its connection only when those before it have left.
  if (!socket) res.once('socket', (late) => late.setTimeout(timing.stallMs))
  else if (res.writableLength > 0) socket.setTimeout(timing.stallMs)
}
