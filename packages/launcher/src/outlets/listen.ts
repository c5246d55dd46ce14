/** Servers on sockets of a session. */

import { once } from 'node:events'
import { chmodSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Admits } from './admit-guest.ts'

const mostConnections = 256
/** For the head of a request. */
const headersMs = 30_000

/** Asks who it is at every connection, before a byte of it is read. Rejects when there can be no such socket. */
export async function listenFor(
  server: Server,
  { socketPath, admits }: { readonly socketPath: string; readonly admits: Admits },
): Promise<void> {
  server.maxConnections = mostConnections
  server.headersTimeout = headersMs
  server.prependListener('connection', (socket: Socket) => {
    socket.on('error', () => undefined)
    if (!admits(socket)) socket.destroy()
  })
  // An accept that fails later says nothing of what is served already.
  server.on('error', () => undefined)
  server.listen(socketPath)
  await once(server, 'listening')
  chmodSync(socketPath, 0o600)
}

export async function closeListener(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await closed
}
