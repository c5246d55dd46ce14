/** The two listeners: control API and guest endpoint. Both are bound before anything is advertised. */
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { networkInterfaces } from 'node:os'
import { SallyportError } from '@sallyport/protocol'
import { guestConnectionLimit, guestServerOptions } from '../mcp/timing.ts'
import type { UpOptions } from './options.ts'

export interface Listener {
  readonly server: Server
  readonly port: number
  /** Every address of this machine that it is reached at. */
  readonly addresses: readonly string[]
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
    // It stays: an accept that fails later says nothing of what is served already.
    server.on('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SallyportError(cause.code === 'EADDRINUSE' ? 'port_taken' : 'bad_address', { cause }),
      )
    })
    server.listen({ port, host: options.host, backlog: 1024 }, resolve)
  })
  const { port: bound, address } = server.address() as AddressInfo
  const host = options.host.includes(':') ? `[${options.host}]` : options.host
  return {
    server,
    port: bound,
    addresses: addressesAt(address),
    url: `${options.tls ? 'https' : 'http'}://${host}:${bound}`,
    close: (ms) => close(server, ms),
  }
}

/** `0.0.0.0` and `::` stand for all there are. */
function addressesAt(address: string): string[] {
  if (address !== '0.0.0.0' && address !== '::') return [address]
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return [address, ...all.map((one) => one.address)]
}

async function close(server: Server, ms: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const cut = setTimeout(() => server.closeAllConnections(), ms)
  await closed
  clearTimeout(cut)
}
