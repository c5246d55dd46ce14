/** A gateway with a certificate of ours that says whatever bytes it is given, and keeps what comes back. */
import { connect, type TLSSocket } from 'node:tls'
import { type Certified, type Frame, FrameReader, type Hello } from '@sallyport/protocol/node'

export interface HostileGatewayOptions {
  readonly path: string
  readonly identity: Certified
  readonly authorityPem: string
}

export class HostileGateway {
  readonly frames: Frame[] = []
  readonly #socket: TLSSocket
  readonly #reader = new FrameReader()
  readonly #watchers = new Set<() => void>()
  #isClosed = false

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      this.frames.push(...this.#reader.push(chunk))
      this.#changed()
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      this.#isClosed = true
      this.#changed()
    })
  }

  static async connect({
    path,
    identity,
    authorityPem,
  }: HostileGatewayOptions): Promise<HostileGateway> {
    const socket = connect({
      path,
      cert: identity.certificatePem,
      key: identity.privateKeyPem,
      ca: authorityPem,
      checkServerIdentity: () => undefined,
    })
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject)
    })
    return new HostileGateway(socket)
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Of the worker, once it was said. */
  get hello(): Hello | undefined {
    return this.frames.find(({ kind }) => kind === 'hello')?.head as Hello | undefined
  }

  write(bytes: Buffer): void {
    if (!this.#socket.destroyed) this.#socket.write(bytes)
  }

  /** False when it does not come to hold within `ms`. */
  async until(holds: () => boolean, ms: number): Promise<boolean> {
    return await new Promise((resolve) => {
      const end = (held: boolean): void => {
        clearTimeout(timer)
        this.#watchers.delete(look)
        resolve(held)
      }
      const look = (): void => {
        if (holds()) end(true)
      }
      const timer = setTimeout(() => end(false), ms)
      this.#watchers.add(look)
      look()
    })
  }

  cut(): void {
    this.#socket.destroy()
  }

  #changed(): void {
    for (const look of [...this.#watchers]) look()
  }
}
