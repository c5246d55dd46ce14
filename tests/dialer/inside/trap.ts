/** A server at every address of the isolated network. It answers whoever comes and remembers where they came to. */
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { ServerCertificate } from '../../../apps/worker/src/testing/server-certificate.ts'

export interface Hit {
  readonly address: string
  readonly port: number
}

export class Trap {
  /** Since it was emptied last. */
  readonly hits: Hit[] = []
  readonly #servers: Server[] = []
  readonly #sockets = new Set<Socket>()

  /** With a certificate it speaks TLS; otherwise it only listens. */
  async listen(port: number, certificate?: ServerCertificate): Promise<void> {
    const server = certificate ? createTlsServer(certificate, answer) : createServer()
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      const address = (socket.localAddress ?? '').replace(/^::ffff:/, '')
      this.hits.push({ address, port })
    })
    server.on('tlsClientError', () => {})
    server.listen({ port, host: '::' })
    await once(server, 'listening')
    this.#servers.push(server)
  }

  close(): void {
    for (const server of this.#servers) server.close()
    for (const socket of this.#sockets) socket.destroy()
  }
}

function answer(socket: Socket): void {
  socket.on('error', () => {})
  let text = ''
  socket.on('data', (chunk) => {
    text += chunk
    if (text.endsWith('\r\n\r\n'))
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 4\r\n\r\ntrap')
  })
}
