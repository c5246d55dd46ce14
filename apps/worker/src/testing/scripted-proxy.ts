/** For tests: a proxy that opens tunnels, or says something else; it leads to one server whatever it is asked for. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

export class ScriptedProxy {
  /** What was asked for: `mcp.dev:443`. */
  readonly asked: string[] = []
  /** Written instead of opening a tunnel. */
  answer: string | undefined
  /** Written behind the head that opens one. */
  after = ''
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, targetPort: number) {
    this.#server = server
    server.on('connection', (socket: Socket) => {
      this.#keep(socket)
      let head = ''
      const read = (chunk: Buffer) => {
        head += chunk.toString('latin1')
        if (!head.includes('\r\n\r\n')) return
        socket.off('data', read)
        this.asked.push(/^CONNECT (\S+) HTTP\/1\.1\r\n/.exec(head)?.[1] ?? head)
        if (this.answer !== undefined) socket.write(this.answer)
        else this.#open(socket, targetPort)
      }
      socket.on('data', read)
    })
  }

  static async start(targetPort: number): Promise<ScriptedProxy> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ScriptedProxy(server, targetPort)
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #open(socket: Socket, port: number): void {
    const target = connect(port, '127.0.0.1')
    this.#keep(target)
    socket.write(`HTTP/1.1 200 Connection established\r\nx: y\r\n\r\n${this.after}`)
    socket.pipe(target).pipe(socket)
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
  }
}
