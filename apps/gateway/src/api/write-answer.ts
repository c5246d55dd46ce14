import type { IncomingMessage, ServerResponse } from 'node:http'
import { errors, type SallyportError } from '@sallyport/protocol'

/** Answers are for the one who asked, now, and never a page. */
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export function writeText(
  response: ServerResponse,
  status: number,
  type: string,
  text: string,
): void {
  const request: IncomingMessage = response.req
  // What is left of a body that nobody wants is not waited for.
  const close = request.complete ? {} : { connection: 'close' }
  const size = { 'content-type': type, 'content-length': Buffer.byteLength(text) }
  response.writeHead(status, { ...headers, ...size, ...close })
  response.end(request.method === 'HEAD' ? undefined : text)
}

export function writeJson(response: ServerResponse, status: number, value: unknown): void {
  writeText(response, status, 'application/json', JSON.stringify(value))
}

/** The public half of an error; its cause stays in the log. */
export function writeError(response: ServerResponse, { code, field }: SallyportError): void {
  const { http, who, retry, text } = errors[code]
  if (code === 'not_authenticated') response.setHeader('www-authenticate', 'Bearer')
  writeJson(response, http, {
    error: { code, message: text, who, retry, ...(field === undefined ? {} : { field }) },
  })
}
