/** One connection between a gateway and the worker: frames in order, read when a schedule says so, and two ends. */
import { encodeFrame, type Frame, FrameReader, type Hello } from '@sallyport/protocol/node'
import type { Channel, ChannelEvents } from '../../../apps/gateway/src/worker/channel.ts'
import type { Held, Option, Program, Steps } from './steps.ts'

interface Reader {
  readonly program: Program
  readonly frame: (frame: Frame) => void
  /** Once; nothing comes afterwards. */
  readonly ended: () => void
}

/** What one side has written and the other has not read. */
export class Wire {
  readonly #steps: Steps
  readonly #name: string
  readonly #reader: Reader
  #unread: (Buffer | 'end')[] = []
  #isEnding = false
  #next: Held | undefined

  constructor(steps: Steps, name: string, reader: Reader) {
    this.#steps = steps
    this.#name = name
    this.#reader = reader
  }

  /** Into the void, when the connection has ended. */
  write(...frames: readonly Buffer[]): void {
    if (this.#isEnding) return
    this.#unread.push(...frames)
    if (this.#unread.length === frames.length) this.#holdNext()
  }

  /** What was written before may still be read. */
  end(): void {
    if (this.#isEnding) return
    this.#unread.push('end')
    this.#isEnding = true
    // From now on it may also be lost.
    if (this.#next) this.#steps.drop(this.#next)
    this.#holdNext()
  }

  #holdNext(): void {
    const [next] = this.#unread
    this.#next = next && {
      program: this.#reader.program,
      lane: this.#name,
      options: this.#optionsFor(next),
    }
    if (this.#next) this.#steps.hold(this.#next)
  }

  #optionsFor(next: Buffer | 'end'): readonly [Option, ...Option[]] {
    const end = { name: `sees the end of ${this.#name}`, run: () => this.#end() }
    if (next === 'end') return [end]
    const [frame] = new FrameReader().push(next)
    if (!frame) throw new TypeError('half a frame')
    const read = { name: `reads ${frame.kind} on ${this.#name}`, run: () => this.#read(frame) }
    return this.#isEnding ? [read, end] : [read]
  }

  #read(frame: Frame): void {
    this.#unread.shift()
    this.#holdNext()
    this.#reader.frame(frame)
  }

  #end(): void {
    this.#unread = []
    this.#isEnding = true
    this.#reader.ended()
  }
}

/** The gateway's end, as its connection to the worker uses it. */
export class HeldChannel {
  readonly hello: Hello
  readonly #wire: Wire
  #events: ChannelEvents | undefined
  #isWoken = false
  isOpen = true

  constructor(hello: Hello, wire: Wire) {
    this.hello = hello
    this.#wire = wire
  }

  listen(events: ChannelEvents): void {
    this.#events = events
  }

  send(...frames: Buffer[]): void {
    if (this.isOpen) this.#wire.write(...frames)
  }

  sendFrame: Channel['sendFrame'] = (kind, head) => this.send(encodeFrame(kind, head))

  wake(): void {
    if (this.#isWoken) return
    this.#isWoken = true
    queueMicrotask(() => {
      this.#isWoken = false
      this.flush()
    })
  }

  flush(): void {
    this.send(...(this.#events?.flushing() ?? []))
  }

  frame(frame: Frame): void {
    this.#events?.frame(frame)
  }

  ended(): void {
    this.isOpen = false
    this.#events?.closed()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
