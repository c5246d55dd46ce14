/**
 * Stands between a gateway and Postgres, and cuts one connection at one COMMIT: before the server has heard of it, or after,
 * so that its answer is lost. Which of the two it was, the gateway cannot know.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export type Cut = 'unheard' | 'unanswered'

interface Order {
  readonly cut: Cut
  /** Of the transaction that is meant: text of one of its messages. */
  readonly sign: string
  readonly done: () => void
}

const socketName = '.s.PGSQL.5432'
/** A simple query: its kind, its length, its text, a zero. */
const message = (text: string): Buffer => {
  const body = Buffer.from(`${text}\0`)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(body.length + 4)
  return Buffer.concat([Buffer.from('Q'), length, body])
}
const commit = message('COMMIT')

export class PostgresProxy {
  readonly url: string
  readonly #folder: string
  readonly #target: string
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #order: Order | undefined

  private constructor(url: string, folder: string) {
    const target = new URL(url).searchParams.get('host') ?? ''
    this.#target = join(target, socketName)
    this.#folder = folder
    this.url = url.replace(encodeURIComponent(target), encodeURIComponent(folder))
    this.#server = createServer((client) => this.#serve(client))
  }

  static async start(url: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(url, mkdtempSync(join(tmpdir(), 'sallyport-proxy-')))
    await new Promise<void>((resolve) => {
      proxy.#server.listen(join(proxy.#folder, socketName), resolve)
    })
    return proxy
  }

  /** Resolves when the next transaction with that sign was cut at its end. */
  cutNext(cut: Cut, sign: string): Promise<void> {
    return new Promise((done) => {
      this.#order = { cut, sign, done }
    })
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #serve(client: Socket): void {
    const server = createConnection(this.#target)
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket))
    }
    let heard = ''
    let isMute = false
    client.on('data', (chunk) => {
      heard += chunk.toString('latin1')
      const order = chunk.includes(commit) ? this.#takeFor(heard) : undefined
      if (chunk.includes(commit)) heard = ''
      if (!order) {
        server.write(chunk)
        return
      }
      isMute = true
      if (order.cut === 'unanswered') server.write(chunk)
      server.end()
      // Not before the server is done with it: its end is the sign.
      server.once('close', () => {
        client.destroy()
        order.done()
      })
    })
    server.on('data', (chunk) => {
      if (!isMute) client.write(chunk)
    })
    client.once('close', () => server.end())
    server.once('close', () => client.destroy())
  }

  #takeFor(heard: string): Order | undefined {
    const order = this.#order
    if (!order || !heard.includes(order.sign)) return undefined
    this.#order = undefined
    return order
  }
}
