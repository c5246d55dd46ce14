import type { Duplex } from 'node:stream'

/** Writes what one turn of the event loop has to say in one piece: a record and a system call for all of it. */
export class TurnWriter {
  readonly #stream: Duplex
  #isCorked = false

  constructor(stream: Duplex) {
    this.#stream = stream
  }

  write(frame: Uint8Array): void {
    if (this.#stream.destroyed) return
    if (!this.#isCorked) {
      this.#isCorked = true
      this.#stream.cork()
      setImmediate(() => this.flush())
    }
    this.#stream.write(frame)
  }

  flush(): void {
    if (!this.#isCorked) return
    this.#isCorked = false
    this.#stream.uncork()
  }
}
