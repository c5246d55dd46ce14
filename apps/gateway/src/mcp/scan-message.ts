/**
 * One linear scan over the text of a JSON-RPC message. It accepts exactly what JSON.parse accepts and cuts the members
 * that framing needs out of the text without parsing them: the arguments of a call go on as the very text that came.
 * Keys of one object must differ, except inside the arguments, where the core answers for it.
 */
export type Members = ReadonlyMap<string, string>

export type ScanResult =
  | { readonly kind: 'syntax' }
  | { readonly kind: 'batch' }
  | { readonly kind: 'scalar' }
  | {
      readonly kind: 'object'
      /** Key (decoded) → JSON text of its value. The first of two equal keys. */
      readonly message: Members
      /** Of `params` and of `params._meta`, where those are objects. */
      readonly params: Members | undefined
      readonly meta: Members | undefined
      /** What makes the message mean two things, or too deep to be one of ours. */
      readonly ambiguous: 'duplicate_key' | 'depth' | undefined
    }

const depthLimit = 64

class NotJson extends Error {}

/** `hasControl`: whether a character below U+0020 is in it, where that is known already. */
export function scanMessage(text: string, hasControl = control.test(text)): ScanResult {
  return orNotJson(() => new Scanner(text, hasControl).document()) ?? { kind: 'syntax' }
}

/** Where the value of a member of an object stands in its JSON text; of equal keys the last one's, as JSON.parse takes it. */
export function memberSpan(text: string, key: string): Span | undefined {
  return orNotJson(() => new Scanner(text, control.test(text)).span(key))
}

export type Span = readonly [start: number, end: number]

function orNotJson<T>(scan: () => T): T | undefined {
  try {
    return scan()
  } catch (thrown) {
    if (thrown instanceof NotJson) return undefined
    throw thrown
  }
}

const quote = 34
const comma = 44
const colon = 58
const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids exactly these inside strings
const control = /[\u0000-\u001f]/
const shortEscapes = new Set([...'"\\/bfnrt'].map((char) => char.charCodeAt(0)))
const words = new Map(['true', 'false', 'null'].map((word) => [word.charCodeAt(0), word]))
const fourHex = /[0-9a-fA-F]{4}/y

/** What an open bracket waits for: the keys seen so far, or only its closing. */
type Frame = Set<string> | 'object' | 'array'

class Scanner {
  readonly #text: string
  #at = 0
  /** The next backslash at or after `#at`, or the end: strings are skipped in steps instead of character by character. */
  #nextEscape = -1
  /** Between tokens they are white space; only when there are any must strings be searched for them. */
  readonly #hasControl: boolean
  #ambiguous: 'duplicate_key' | 'depth' | undefined
  #params: Map<string, string> | undefined
  #meta: Map<string, string> | undefined

  constructor(text: string, hasControl: boolean) {
    this.#text = text
    this.#hasControl = hasControl
  }

  document(): ScanResult {
    this.#space()
    const first = this.#text.charCodeAt(this.#at)
    const message = first === openBrace ? this.#members(0) : undefined
    if (!message) this.#value(false)
    this.#space()
    if (this.#at !== this.#text.length) throw new NotJson()
    if (!message) return { kind: first === openBracket ? 'batch' : 'scalar' }
    const { params, meta } = { params: this.#params, meta: this.#meta }
    return { kind: 'object', message, params, meta, ambiguous: this.#ambiguous }
  }

  span(wanted: string): Span | undefined {
    let found: Span | undefined
    this.#space()
    if (!this.#take(openBrace)) return undefined
    this.#space()
    while (this.#text.charCodeAt(this.#at) === quote) {
      const key = this.#key()
      const start = this.#at
      this.#value(false)
      if (key === wanted) found = [start, this.#at]
      this.#space()
      if (!this.#take(comma)) return found
      this.#space()
    }
    return found
  }

  /** `level` 0 is the message, 1 `params`, 2 `_meta`. */
  #members(level: 0 | 1 | 2): Map<string, string> {
    const members = new Map<string, string>()
    this.#at++
    this.#space()
    if (this.#take(closeBrace)) return members
    for (;;) {
      const key = this.#key()
      const start = this.#at
      this.#member(level, key)
      if (members.has(key)) this.#ambiguous = 'duplicate_key'
      else members.set(key, this.#text.slice(start, this.#at))
      this.#space()
      if (this.#take(closeBrace)) return members
      if (!this.#take(comma)) throw new NotJson()
      this.#space()
    }
  }

  #member(level: 0 | 1 | 2, key: string): void {
    const isObject = this.#text.charCodeAt(this.#at) === openBrace
    if (level === 0 && key === 'params' && isObject) this.#params = this.#members(1)
    else if (level === 1 && key === '_meta' && isObject) this.#meta = this.#members(2)
    else this.#value(!(level === 1 && key === 'arguments'))
  }

  /** Moves past one value. No recursion: the depth of arguments is the core's to judge, and must not end us. */
  #value(isUnique: boolean): void {
    const open: Frame[] = []
    for (;;) {
      if (this.#begin(open, isUnique)) continue
      while (this.#end(open)) if (open.length === 0) return
      if (open.length === 0) return
    }
  }

  /** At the start of a value. True when it opened something that holds at least one value, where we now stand. */
  #begin(open: Frame[], isUnique: boolean): boolean {
    const code = this.#text.charCodeAt(this.#at)
    if (code !== openBrace && code !== openBracket) {
      if (code === quote) this.#string()
      else this.#scalar()
      return false
    }
    if (isUnique && open.length >= depthLimit) this.#ambiguous = 'depth'
    this.#at++
    this.#space()
    if (this.#take(code === openBrace ? closeBrace : closeBracket)) return false
    const isTracked = isUnique && this.#ambiguous === undefined
    open.push(code === openBracket ? 'array' : isTracked ? new Set() : 'object')
    this.#keyIn(open)
    return true
  }

  /** A value has ended. True when that closed what held it; else we stand at the next value, unless nothing is open. */
  #end(open: Frame[]): boolean {
    const frame = open.at(-1)
    if (frame === undefined) return false
    this.#space()
    if (this.#take(frame === 'array' ? closeBracket : closeBrace)) {
      open.pop()
      return true
    }
    if (!this.#take(comma)) throw new NotJson()
    this.#space()
    this.#keyIn(open)
    return false
  }

  #keyIn(open: readonly Frame[]): void {
    const frame = open.at(-1)
    if (frame === 'array' || frame === undefined) return
    if (frame === 'object') {
      if (this.#text.charCodeAt(this.#at) !== quote) throw new NotJson()
      this.#string()
      this.#afterKey()
      return
    }
    const key = this.#key()
    if (frame.has(key)) this.#ambiguous = 'duplicate_key'
    frame.add(key)
  }

  #key(): string {
    if (this.#text.charCodeAt(this.#at) !== quote) throw new NotJson()
    const start = this.#at
    const isEscaped = this.#string()
    const raw = this.#text.slice(start, this.#at)
    this.#afterKey()
    return isEscaped ? JSON.parse(raw) : raw.slice(1, -1)
  }

  #afterKey(): void {
    this.#space()
    if (!this.#take(colon)) throw new NotJson()
    this.#space()
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return
      this.#at++
    }
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false
    this.#at++
    return true
  }

  /** Moves past a string; true when it holds an escape. */
  #string(): boolean {
    const text = this.#text
    const start = this.#at + 1
    if (this.#nextEscape < start) this.#nextEscape = this.#find('\\', start)
    let end = this.#find('"', start)
    const isEscaped = this.#nextEscape < end
    while (this.#nextEscape < end) {
      const next = this.#escape(this.#nextEscape + 1)
      if (end < next) end = this.#find('"', next)
      this.#nextEscape = this.#find('\\', next)
    }
    if (end >= text.length) throw new NotJson()
    if (this.#hasControl) this.#refuseControl(start, end)
    this.#at = end + 1
    return isEscaped
  }

  #find(char: string, from: number): number {
    const found = this.#text.indexOf(char, from)
    return found < 0 ? this.#text.length : found
  }

  #refuseControl(start: number, end: number): void {
    for (let at = start; at < end; at++) if (this.#text.charCodeAt(at) < 32) throw new NotJson()
  }

  /** Just after a backslash; where the escape ends. */
  #escape(at: number): number {
    const code = this.#text.charCodeAt(at)
    if (shortEscapes.has(code)) return at + 1
    fourHex.lastIndex = at + 1
    if (code !== 117 || !fourHex.test(this.#text)) throw new NotJson()
    return at + 5
  }

  #scalar(): void {
    const word = words.get(this.#text.charCodeAt(this.#at))
    if (word !== undefined) {
      if (!this.#text.startsWith(word, this.#at)) throw new NotJson()
      this.#at += word.length
      return
    }
    number.lastIndex = this.#at
    if (!number.test(this.#text)) throw new NotJson()
    this.#at = number.lastIndex
  }
}
