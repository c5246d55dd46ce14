/** One connection to a worker whose hello has come: frames in and out, and the watch over its life. */
import type { TLSSocket } from 'node:tls'
import { SallyportError } from '@sallyport/protocol'
import {
  encodeFrame,
  type Frame,
  type FrameKind,
  FrameReader,
  type Hello,
  isHeadOf,
  type PingHead,
} from '@sallyport/protocol/node'
import type { Clock } from './clock.ts'
import { dial, type Identity, type WorkerAddress } from './dial.ts'
import { TurnWriter } from './turn-writer.ts'

const pingEveryMs = 5_000
const deadAfterMs = 15_000
const helloWithinMs = 10_000
const closeWithinMs = 1_000

export interface ChannelOptions {
  readonly address: WorkerAddress
  /** Asked for each connection: certificates are renewed. */
  readonly identity: () => Identity
  readonly clock: Clock
  /** Made anew for each connection: it holds the time. */
  readonly hello: () => Hello
}

export interface ChannelEvents {
  /** Any frame but hello, ping and pong. */
  frame(frame: Frame): void
  /** Once; nothing comes afterwards. */
  closed(): void
  /** Frames that gathered during this turn. */
  flushing(): Buffer[]
}

/**
 * Resolves when the worker has said hello, whatever it said; it is for the caller to judge. Rejects with `worker_down`,
 * its cause telling why.
 */
export function openChannel(options: ChannelOptions): Promise<Channel> {
  const identity = options.identity()
  const socket = dial(options.address, identity)
  const reader = new FrameReader()
  return new Promise((resolve, reject) => {
    let problem: unknown = new Error('no hello in time')
    const cancelTimer = options.clock.after(helloWithinMs, () => socket.destroy())
    const onClose = () => {
      cancelTimer()
      reject(new SallyportError('worker_down', { cause: problem }))
    }
    const onData = (chunk: Buffer) => {
      try {
        const [first, ...rest] = reader.push(chunk)
        if (!first) return
        // One of another release may look otherwise: its form is judged with the rest of it.
        const hello = first.kind === 'hello' ? (first.head as Hello | undefined) : undefined
        if (typeof hello !== 'object' || hello === null)
          throw new Error('the peer does not begin with hello')
        cancelTimer()
        socket.off('data', onData).off('close', onClose)
        resolve(new Channel({ socket, identity, reader, early: rest, hello, clock: options.clock }))
      } catch (thrown) {
        problem = thrown
        socket.destroy()
      }
    }
    socket.once('secureConnect', () => {
      problem = new Error('closed before hello')
      socket.write(encodeFrame('hello', options.hello()))
    })
    socket.on('error', (error) => {
      problem = error
    })
    socket.on('data', onData).once('close', onClose)
  })
}

interface ChannelParts {
  readonly socket: TLSSocket
  readonly identity: Identity
  readonly reader: FrameReader
  /** Frames that came with the hello. */
  readonly early: Frame[]
  readonly hello: Hello
  readonly clock: Clock
}

export class Channel {
  readonly hello: Hello
  /** What this side showed on it: orders that it carries are signed by that. */
  readonly identity: Identity
  readonly #socket: TLSSocket
  readonly #reader: FrameReader
  readonly #early: Frame[]
  readonly #clock: Clock
  readonly #writer: TurnWriter
  #events: ChannelEvents | undefined
  #silence = 0
  #pings = 0
  #cancelPing = (): void => {}
  #open = true

  constructor({ socket, identity, reader, early, hello, clock }: ChannelParts) {
    this.#socket = socket
    this.identity = identity
    this.#reader = reader
    this.#early = early
    this.hello = hello
    this.#clock = clock
    this.#writer = new TurnWriter(socket, () => this.#events?.flushing() ?? [])
    socket.pause()
    socket.once('close', () => this.#closed())
  }

  /** Frames come from here on; called once. */
  listen(events: ChannelEvents): void {
    this.#events = events
    if (!this.#open) {
      events.closed()
      return
    }
    for (const frame of this.#early) this.#take(frame)
    this.#socket.on('data', (chunk) => this.#read(chunk)).resume()
    this.#watch()
  }

  get isOpen(): boolean {
    return this.#open
  }

  send(...frames: Buffer[]): void {
    if (this.#open) this.#writer.write(...frames)
  }

  sendFrame(kind: FrameKind, head: unknown): void {
    this.send(encodeFrame(kind, head))
  }

  /** What was written leaves now, and not with what else comes in this turn. */
  flush(): void {
    if (this.#open) this.#writer.flush()
  }

  /** `flushing` has something to write. */
  wake(): void {
    if (this.#open) this.#writer.wake()
  }

  /** What was written leaves first, within a bound. */
  close(): Promise<void> {
    if (!this.#open) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#clock.after(closeWithinMs, () => this.#socket.destroy())
      this.#socket.once('close', () => {
        cancel()
        resolve()
      })
      this.#writer.flush()
      this.#socket.end()
      this.#socket.resume()
    })
  }

  #read(chunk: Buffer): void {
    this.#silence = 0
    let frames: Frame[]
    try {
      frames = this.#reader.push(chunk)
    } catch {
      // No peer of ours sends such bytes: what follows cannot be trusted.
      this.#socket.destroy()
      return
    }
    for (const frame of frames) this.#take(frame)
  }

  /** What no worker of ours says is the last that is heard of it. */
  #take({ kind, head, raw }: Frame): void {
    if (!this.#open || this.#socket.destroyed) return
    if (!isHeadOf(kind, head)) this.#socket.destroy()
    else if (kind === 'ping') this.sendFrame('pong', { n: (head as PingHead).n })
    else if (kind !== 'pong' && kind !== 'hello') this.#events?.frame({ kind, head, raw })
  }

  /** Counts its own steps, not time: a gateway that was suspended does not take its worker for dead. */
  #watch(): void {
    this.#cancelPing = this.#clock.after(pingEveryMs, () => {
      this.#silence += pingEveryMs
      if (this.#silence >= deadAfterMs) {
        this.#socket.destroy()
        return
      }
      this.sendFrame('ping', { n: ++this.#pings })
      this.#watch()
    })
  }

  #closed(): void {
    this.#open = false
    this.#cancelPing()
    this.#events?.closed()
  }
}
