/**
 * Loaded into the conformance runner, which has no option for a header: adds the bearer to its requests to one server,
 * whichever of the two HTTP clients of Node it uses. The `Host` header says nothing here: the runner forges it.
 */
import { subscribe } from 'node:diagnostics_channel'
import type { ClientRequest } from 'node:http'

interface UndiciRequest {
  readonly origin: string | URL
  addHeader(name: string, value: string): void
}

const { CONFORMANCE_URL, CONFORMANCE_BEARER } = process.env
if (!CONFORMANCE_URL || !CONFORMANCE_BEARER)
  throw new TypeError('CONFORMANCE_URL and CONFORMANCE_BEARER are needed')
const server = new URL(CONFORMANCE_URL)
const bearer = `Bearer ${CONFORMANCE_BEARER}`

subscribe('undici:request:create', (message) => {
  const { request } = message as { request: UndiciRequest }
  if (new URL(request.origin).origin === server.origin) request.addHeader('authorization', bearer)
})

subscribe('http.client.request.created', (message) => {
  const { request } = message as { request: ClientRequest }
  if (request.host === server.hostname) request.setHeader('authorization', bearer)
})
