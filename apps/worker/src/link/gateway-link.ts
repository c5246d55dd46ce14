/** One connection of a gateway: hello, then frames in both directions, until either side ends it. */
import type { TLSSocket } from 'node:tls'
import { release } from '@sallyport/protocol'
import {
  certificateKid,
  encodeFrame,
  type Frame,
  type FrameKind,
  FrameReader,
  type Hello,
  isHeadOf,
  type PingHead,
  SealBook,
  wireVersion,
} from '@sallyport/protocol/node'
import type { Signer } from '../intent/verify-batch.ts'
import type { OrderSource } from '../orders/order-book.ts'
import { TurnWriter } from './turn-writer.ts'

export interface LinkEvents {
  /** The gateway may be worked with. */
  opened(link: GatewayLink, hello: Hello): void
  /** Any frame but hello, ping and pong. False when no gateway of ours sends that: the connection ends. */
  frame(link: GatewayLink, frame: Frame): boolean
  /** Only after `opened`; once. */
  closed(link: GatewayLink): void
}

export interface LinkOptions {
  /** Made anew for each connection: it holds the time. */
  readonly hello: () => Hello
  readonly now: () => number
  readonly events: LinkEvents
}

const clockSkewMs = 5_000
const helloWithinMs = 10_000
/** A gateway that does not read this much is not alive; it asks again when it is. */
const backlogLimit = 64 * 1024 * 1024
/** Progress is a courtesy: it does not wait in a queue. */
const progressBacklog = 1024 * 1024

export class GatewayLink implements OrderSource {
  readonly signer: Signer
  readonly seals = new SealBook()
  readonly #socket: TLSSocket
  readonly #options: LinkOptions
  readonly #reader = new FrameReader()
  readonly #writer: TurnWriter
  readonly #helloTimer: NodeJS.Timeout
  /** Of the gateway; undefined until its hello was accepted. */
  instance: string | undefined

  /** The handshake is over and the role in the certificate was judged. */
  constructor(socket: TLSSocket, options: LinkOptions) {
    const certificate = socket.getPeerX509Certificate()
    if (!certificate) throw new TypeError('a peer without a certificate')
    const { publicKey } = certificate
    this.signer = { kid: certificateKid(publicKey), publicKey }
    this.#socket = socket
    this.#options = options
    this.#writer = new TurnWriter(socket)
    socket.setNoDelay(true)
    socket.setKeepAlive(true, 15_000)
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    this.#helloTimer = setTimeout(() => socket.destroy(), helloWithinMs)
    socket.once('close', () => {
      clearTimeout(this.#helloTimer)
      if (this.instance !== undefined) options.events.closed(this)
    })
  }

  send(kind: FrameKind, head: object, raw?: Buffer): void {
    if (kind === 'progress' && this.#socket.writableLength > progressBacklog) return
    if (this.#socket.writableLength > backlogLimit) {
      this.#socket.destroy()
      return
    }
    this.#writer.write(raw ? encodeFrame(kind, head, raw) : encodeFrame(kind, head))
  }

  /** What was written leaves first. */
  close(): void {
    this.#writer.flush()
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    let frames: Frame[]
    try {
      frames = this.#reader.push(chunk)
    } catch {
      // Not the bytes of a gateway: nothing after them can be trusted.
      this.#socket.destroy()
      return
    }
    for (const frame of frames) if (!this.#socket.destroyed) this.#take(frame)
  }

  #take(frame: Frame): void {
    if (this.instance === undefined) this.#greet(frame)
    else if (!this.#isTaken(frame)) this.destroy()
  }

  #isTaken(frame: Frame): boolean {
    const isWatch = frame.kind === 'ping' || frame.kind === 'pong'
    if (!isWatch) return this.#options.events.frame(this, frame)
    if (!isHeadOf(frame.kind, frame.head)) return false
    if (frame.kind === 'ping') this.send('pong', { n: (frame.head as PingHead).n })
    return true
  }

  /** The first frame must be a hello, and ours says whether it was good enough. */
  #greet({ kind, head }: Frame): void {
    clearTimeout(this.#helloTimer)
    const hello = head as Partial<Hello> | null
    const isHello = kind === 'hello' && hello?.role === 'gateway'
    if (!isHello || typeof hello.instance !== 'string') {
      this.destroy()
      return
    }
    const refused = this.#judge(hello)
    // One of another release may look otherwise, and is told why; one of ours has no excuse.
    if (refused === undefined && !isHeadOf(kind, head)) {
      this.destroy()
      return
    }
    this.send('hello', { ...this.#options.hello(), ...(refused ? { refused } : {}) })
    if (refused) {
      this.close()
      return
    }
    this.instance = hello.instance
    this.#options.events.opened(this, hello as Hello)
  }

  #judge({ wire, release: other, now }: Partial<Hello>): Hello['refused'] {
    if (wire !== wireVersion || other !== release) return 'wrong_release'
    const isNear = typeof now === 'number' && Math.abs(this.#options.now() - now) <= clockSkewMs
    return isNear ? undefined : 'clock_skew'
  }
}
