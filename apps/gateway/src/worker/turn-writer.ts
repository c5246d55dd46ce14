export interface Sink {
  write(bytes: Buffer): unknown
}

/**
 * Everything that one event has to say, a commit most of all, leaves as one buffer: one system call and one TLS record
 * run. It leaves when that event is over, and not when the loop has gone round: others would be served in between.
 */
export class TurnWriter {
  readonly #sink: Sink
  readonly #last: () => Buffer[]
  #frames: Buffer[] = []
  #scheduled = false

  /** `last` is asked at the end of each turn that writes, for frames that gather until then. */
  constructor(sink: Sink, last: () => Buffer[]) {
    this.#sink = sink
    this.#last = last
  }

  write(...frames: Buffer[]): void {
    this.#frames.push(...frames)
    this.wake()
  }

  /** `last` has something to write. */
  wake(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    process.nextTick(() => this.flush())
  }

  flush(): void {
    this.#scheduled = false
    const frames = this.#frames.concat(this.#last())
    this.#frames = []
    if (frames.length === 0) return
    this.#sink.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames))
  }
}
