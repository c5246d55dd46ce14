/**
 * Finds the members of one JSON object in bytes as they stream in. The bytes of each value are handed on exactly as
 * they came; nothing is parsed, and nothing but the name of a member is held.
 */
import { SallyportError } from '@sallyport/protocol'

export interface MemberSink {
  /** The next part of the value of a member, its whitespace included. */
  value(name: string, part: Buffer): void
  end(name: string): void
}

const quote = 34
const comma = 44
const colon = 58
const openBracket = 91
const backslash = 92
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

/** No member that matters has a longer name. */
const longestName = 256
/** A string that is not over after as many bytes is searched for its end instead of walked. */
const walk = 16

type Place = 'before' | 'name or end' | 'name' | 'in name' | 'colon' | 'value' | 'after'

export class MemberScanner {
  /** The deepest nesting seen inside the values. */
  deepest = 0
  readonly #sink: MemberSink
  #place: Place = 'before'
  #name = ''
  #depth = 0
  #inString = false
  /** Whether the last byte read was a backslash that escapes the next one. */
  #escaping = false
  #isEmpty = true

  constructor(sink: MemberSink) {
    this.#sink = sink
  }

  /** Throws `upstream_protocol` for what is not the text of an object. */
  push(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length)
      at = this.#place === 'value' ? this.#value(chunk, at) : this.#step(chunk, at)
  }

  /** Throws `upstream_protocol` when the object is not complete. */
  finish(): void {
    if (this.#place !== 'after') fail()
  }

  #step(chunk: Buffer, at: number): number {
    if (this.#place === 'in name') return this.#inName(chunk, at)
    const byte = chunk[at] as number
    if (isSpace(byte)) return at + 1
    switch (this.#place) {
      case 'before':
        this.#place = byte === openBrace ? 'name or end' : fail()
        break
      case 'name or end':
      case 'name':
        if (byte === closeBrace && this.#place === 'name or end') this.#place = 'after'
        else this.#place = byte === quote ? 'in name' : fail()
        this.#name = ''
        break
      case 'colon':
        this.#place = byte === colon ? 'value' : fail()
        this.#isEmpty = true
        break
      default:
        fail()
    }
    return at + 1
  }

  /** An escape in a name would be a second spelling of it. */
  #inName(chunk: Buffer, at: number): number {
    const end = chunk.indexOf(quote, at)
    const part = chunk.subarray(at, end < 0 ? chunk.length : end)
    if (this.#name.length + part.length > longestName || part.includes(backslash)) fail()
    this.#name += part.toString('latin1')
    if (end < 0) return chunk.length
    this.#place = 'colon'
    return end + 1
  }

  /** From `at` to the end of the value or of the chunk. */
  #value(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length) {
      if (this.#inString) {
        at = this.#string(chunk, at)
        continue
      }
      const byte = chunk[at] as number
      if (byte === quote) this.#inString = true
      else if (byte === openBrace || byte === openBracket) this.#descend()
      else if (byte === closeBrace || byte === closeBracket) {
        if (this.#depth === 0) return this.#endValue(chunk, from, at, byte)
        this.#depth--
      } else if (byte === comma && this.#depth === 0) return this.#endValue(chunk, from, at, byte)
      if (!isSpace(byte)) this.#isEmpty = false
      at++
    }
    this.#sink.value(this.#name, chunk.subarray(from))
    return at
  }

  #descend(): void {
    this.#depth++
    if (this.#depth > this.deepest) this.deepest = this.#depth
  }

  #endValue(chunk: Buffer, from: number, at: number, byte: number): number {
    if (this.#isEmpty || byte === closeBracket) fail()
    this.#sink.value(this.#name, chunk.subarray(from, at))
    this.#sink.end(this.#name)
    this.#place = byte === comma ? 'name' : 'after'
    return at + 1
  }

  /** From inside a string to behind its last quote, or to the end of the chunk. */
  #string(chunk: Buffer, from: number): number {
    let at = from
    for (const stop = Math.min(from + walk, chunk.length); at < stop; at++) {
      const byte = chunk[at]
      if (this.#escaping) this.#escaping = false
      else if (byte === backslash) this.#escaping = true
      else if (byte === quote) {
        this.#inString = false
        return at + 1
      }
    }
    if (at === chunk.length) return at
    const end = chunk.indexOf(quote, at)
    const isEscaped = this.#isEscaped(chunk, at, end < 0 ? chunk.length : end)
    this.#escaping = end < 0 && isEscaped
    if (end < 0) return chunk.length
    this.#inString = isEscaped
    return end + 1
  }

  /** Whether an odd number of backslashes stands before `end`. */
  #isEscaped(chunk: Buffer, from: number, end: number): boolean {
    let count = 0
    while (end - 1 - count >= from && chunk[end - 1 - count] === backslash) count++
    const carried = end - count === from && this.#escaping
    return (count % 2 === 1) !== carried
  }
}

function isSpace(byte: number): boolean {
  return byte === 32 || byte === 10 || byte === 13 || byte === 9
}

function fail(): never {
  throw new SallyportError('upstream_protocol')
}
