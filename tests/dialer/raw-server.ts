/** A server that is only a socket: it says any bytes, for ever if it is told to, and counts what was taken from it. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'

/** Called when a request has come; what it writes is all that is answered. */
export type Say = (socket: Socket) => void

export class RawServer {
  /** What was asked, oldest first. */
  readonly asked: string[] = []
  say: Say = () => {}
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #taken = 0

  private constructor(server: Server) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        this.#taken += socket.bytesWritten
        this.#sockets.delete(socket)
      })
      let text = ''
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        if (!isWhole(text)) return
        this.asked.push(text)
        text = ''
        this.say(socket)
      })
    })
  }

  static async start(): Promise<RawServer> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new RawServer(server)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/doc`
  }

  /** Bytes handed to the system for connections that are closed. */
  get taken(): number {
    return this.#taken
  }

  /** Resolves when everybody has gone. */
  async left(): Promise<void> {
    while (this.#sockets.size > 0) await new Promise((resolve) => setImmediate(resolve))
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }
}

function isWhole(text: string): boolean {
  const [head = '', body] = text.split('\r\n\r\n', 2)
  return body !== undefined && body.length >= Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
}

/** Writes it again and again, as fast as it is taken. */
export function forever(socket: Socket, part: string | Buffer): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(part, 'latin1'));
    if (!socket.destroyed) socket.once('drain', more)
  }
  more()
}

/** Writes it in small parts, slowly. */
export function drip(socket: Socket, text: string): void {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) clearInterval(timer)
    else socket.write(text.slice(at, ++at), 'latin1')
  }, 20)
}
