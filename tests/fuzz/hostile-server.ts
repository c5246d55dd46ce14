/** An MCP server over a bare socket: what it writes is whatever it is told to write. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { setImmediate as turn } from 'node:timers/promises'
import type { Written } from './hostile-answers.ts'

export interface Asked {
  readonly verb: string
  readonly headers: string
  /** Of the JSON-RPC message; undefined for what has none. */
  readonly id: unknown
  readonly method: string | undefined
  readonly params: Readonly<Record<string, unknown>>
}

export class HostileServer {
  readonly #answer: (asked: Asked) => Written
  readonly #server: Server
  readonly #sockets = new Set<Socket>()

  private constructor(server: Server, answer: (asked: Asked) => Written) {
    this.#server = server
    this.#answer = answer
    server.on('connection', (socket: Socket) => this.#accept(socket))
  }

  static async start(answer: (asked: Asked) => Written): Promise<HostileServer> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new HostileServer(server, answer)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
    let rest = Buffer.alloc(0)
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk])
      for (let asked = take(rest); asked; asked = take(rest)) {
        rest = rest.subarray(asked.size)
        void this.#write(socket, this.#answer(asked.asked))
      }
    })
  }

  async #write(socket: Socket, { pieces, end }: Written): Promise<void> {
    for (const piece of pieces) {
      if (socket.destroyed) return
      socket.write(piece)
      await turn()
    }
    if (end === 'close') socket.end()
  }
}

/** The first request in the bytes, once it is whole. */
function take(bytes: Buffer): { readonly asked: Asked; readonly size: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return undefined
  const headers = bytes.toString('latin1', 0, headEnd)
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(headers)?.[1] ?? 0)
  const size = headEnd + 4 + length
  if (bytes.length < size) return undefined
  const text = bytes.toString('utf8', headEnd + 4, size)
  const { id, method, params = {} } = text === '' ? {} : JSON.parse(text)
  return { size, asked: { verb: headers.split(' ', 1)[0] ?? '', headers, id, method, params } }
}
