/**
 * One keep-alive HTTP/1.1 connection with one request in flight, straight on a socket: on a machine with two cores a
 * heavy client would hide the server it measures.
 */
import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  readonly body: Buffer
}

type Done = (error: Error | undefined, answer?: Answer) => void

export class Connection {
  readonly #socket: Socket
  readonly #head: string
  #done: Done | undefined
  #parts: Buffer[] = []
  #size = 0
  /** Bytes after which it is worth looking again. */
  #needed = 0

  static async open(url: URL, headers: Readonly<Record<string, string>>): Promise<Connection> {
    const connection = new Connection(url, headers)
    await new Promise<void>((resolve, reject) => {
      connection.#socket.once('connect', resolve)
      connection.#socket.once('error', reject)
    })
    return connection
  }

  private constructor(url: URL, headers: Readonly<Record<string, string>>) {
    const lines = [
      `POST ${url.pathname} HTTP/1.1`,
      `Host: ${url.host}`,
      'Content-Type: application/json',
      'Accept: application/json, text/event-stream',
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    ]
    this.#head = `${lines.join('\r\n')}\r\nContent-Length: `
    this.#socket = connect({ host: url.hostname, port: Number(url.port), noDelay: true })
    this.#socket.on('data', (chunk) => this.#receive(chunk))
    this.#socket.on('error', (error) => this.#finish(error))
    this.#socket.on('close', () => this.#finish(new Error('the connection was closed')))
  }

  /** `body` must be ASCII. */
  send(body: string, done: Done): void {
    this.#done = done
    this.#socket.write(`${this.#head}${body.length}\r\n\r\n${body}`, 'latin1')
  }

  request(body: string): Promise<Answer> {
    return new Promise((resolve, reject) => {
      this.send(body, (error, answer) => (answer ? resolve(answer) : reject(error)))
    })
  }

  close(): void {
    this.#done = undefined
    this.#socket.destroy()
  }

  #finish(error: Error | undefined, answer?: Answer): void {
    const done = this.#done
    this.#done = undefined
    this.#parts = []
    this.#size = 0
    this.#needed = 0
    done?.(error, answer)
  }

  #receive(chunk: Buffer): void {
    this.#parts.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts)
    this.#parts = [bytes]
    const headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = bytes.toString('latin1', 0, headEnd)
    const status = Number(head.slice(9, 12))
    const body = this.#bodyOf(bytes, head, headEnd + 4)
    if (body) this.#finish(undefined, { status, body })
  }

  #bodyOf(bytes: Buffer, head: string, start: number): Buffer | undefined {
    const length = /\r\ncontent-length: ?(\d+)/i.exec(head)?.[1]
    if (length !== undefined) {
      this.#needed = start + Number(length)
      return bytes.length < this.#needed ? undefined : bytes.subarray(start, this.#needed)
    }
    if (/\r\ntransfer-encoding: ?chunked/i.test(head)) return unchunk(bytes, start)
    return Buffer.alloc(0)
  }
}

/** Undefined while the last chunk is not there. */
function unchunk(bytes: Buffer, start: number): Buffer | undefined {
  const parts: Buffer[] = []
  for (let at = start; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    const end = lineEnd + 2 + size
    if (bytes.length < end + 2) return undefined
    if (size === 0) return Buffer.concat(parts)
    parts.push(bytes.subarray(lineEnd + 2, end))
    at = end + 2
  }
}
