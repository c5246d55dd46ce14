/** What a guest is told that may not, or cannot now: a code and its sentence, in the shape that clients of models look for. */
import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ErrorCode, errors, SallyportError } from '@sallyport/protocol'

interface Refusal {
  readonly status: number
  readonly body: string
}

function refusalOf(thrown: unknown): Refusal {
  const code: ErrorCode = thrown instanceof SallyportError ? thrown.code : 'internal'
  const { http, text } = errors[code]
  const error = { type: code, code, message: text }
  return { status: http, body: `${JSON.stringify({ type: 'error', error })}\n` }
}

export function sendRefusal(answer: ServerResponse, thrown: unknown): void {
  const { status, body } = refusalOf(thrown)
  // What came of the request, if anything, may be half of it.
  answer.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(body)
}

/** Where there is no answer of a server to fill in. */
export function writeRefusal(guest: Duplex, thrown: unknown): void {
  const { status, body } = refusalOf(thrown)
  const head = [
    `HTTP/1.1 ${status} Refused`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  guest.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
