/** The two listeners: control API and guest endpoint. Both are bound before anything is advertised. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import { guestConnectionLimit, guestServerOptions } from '../mcp/timing.ts'
import type { UpOptions } from './options.ts'

export interface Listener {
  readonly server: Server
  readonly port: number
  /** Without a path. */
  readonly url: string
  /** Stops accepting at once; resolves when open exchanges have ended or were cut after `ms`. */
  close(ms: number): Promise<void>
}

/** Rejects with `port_taken`, or `bad_request` for an address that is not this machine's. */
export async function listen(
  options: Pick<UpOptions, 'host' | 'tls'>,
  port: number,
  handle: RequestListener,
): Promise<Listener> {
  const server = options.tls
    ? createTlsServer({ ...guestServerOptions, ...options.tls, minVersion: 'TLSv1.2' }, handle)
    : createServer(guestServerOptions, handle)
  server.on('checkContinue', handle)
  server.maxConnections = guestConnectionLimit
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SallyportError(cause.code === 'EADDRINUSE' ? 'port_taken' : 'bad_address', { cause }),
      )
    })
    server.listen({ port, host: options.host, backlog: 1024 }, resolve)
  })
  const bound = (server.address() as AddressInfo).port
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    server,
    port: bound,
    url: `${options.tls ? 'https' : 'http'}://${host}:${bound}`,
    close: (ms) => close(server, ms),
  }
}

async function close(server: Server, ms: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), ms)
  await closed
  clearTimeout(cut)
}
