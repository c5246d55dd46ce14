/** Cuts an event stream into the data of its events, without holding an event in memory. */

export interface EventSink {
  /** The next part of the data of the event that is being read. */
  data(part: Buffer): void
  /** The event is complete. Not called for one without data. */
  end(): void
}

const lineFeed = 10
const carriageReturn = 13
const field = 'data:'
const newLine = Buffer.from('\n')

export class SseReader {
  readonly #sink: EventSink
  #mode: 'name' | 'space' | 'value' | 'skip' = 'name'
  /** What was read of the name of the field. */
  #name = ''
  #hasData = false
  #afterReturn = false

  constructor(sink: EventSink) {
    this.#sink = sink
  }

  push(chunk: Buffer): void {
    let at = 0
    if (this.#afterReturn && chunk.length > 0) {
      this.#afterReturn = false
      if (chunk[0] === lineFeed) at = 1
    }
    // Searched for only when passed, so that a stream without carriage returns is not scanned for them again and again.
    let nextReturn = indexOrEnd(chunk, carriageReturn, at)
    while (at < chunk.length) {
      const end = Math.min(indexOrEnd(chunk, lineFeed, at), nextReturn)
      this.#line(chunk.subarray(at, end))
      if (end === chunk.length) return
      this.#endLine()
      at = end + 1
      if (end !== nextReturn) continue
      if (at === chunk.length) this.#afterReturn = true
      else if (chunk[at] === lineFeed) at++
      nextReturn = indexOrEnd(chunk, carriageReturn, at)
    }
  }

  /** A part of one line, without its end. */
  #line(part: Buffer): void {
    let rest = part
    if (this.#mode === 'name') {
      const wanted = field.length - this.#name.length
      this.#name += rest.toString('latin1', 0, wanted)
      if (this.#name.length < field.length) return
      this.#mode = this.#name === field ? 'space' : 'skip'
      rest = rest.subarray(wanted)
    }
    if (this.#mode === 'space' && rest.length > 0) {
      this.#mode = 'value'
      if (this.#hasData) this.#sink.data(newLine)
      if (rest[0] === 32) rest = rest.subarray(1)
    }
    if (this.#mode !== 'value' || rest.length === 0) return
    this.#hasData = true
    this.#sink.data(rest)
  }

  #endLine(): void {
    const isEmpty = this.#mode === 'name' && this.#name === ''
    this.#mode = 'name'
    this.#name = ''
    if (!isEmpty || !this.#hasData) return
    this.#hasData = false
    this.#sink.end()
  }
}

function indexOrEnd(chunk: Buffer, byte: number, from: number): number {
  const found = chunk.indexOf(byte, from)
  return found < 0 ? chunk.length : found
}
