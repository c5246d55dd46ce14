/**
 * Exact JSON: text that means the same to every reader. One linear scan finds what two parsers could read differently
 * (a key twice, a number a double cannot hold, half a surrogate pair, `__proto__`, too much nesting) before anything
 * is parsed, and tells whether the text already is in canonical form (RFC 8785).
 */

import { canonicalJson } from './canonical.ts'

export type Inexact = 'syntax' | 'duplicate_key' | 'number' | 'surrogate' | 'proto' | 'depth'

/** `path` is a JSON pointer to the place, '' for the whole. */
export type ExactResult =
  | { readonly ok: true; readonly value: unknown; readonly canonical: string }
  | { readonly ok: false; readonly problem: Inexact; readonly path: string }

export const maxDepth = 64

class Problem {
  readonly problem: Inexact
  constructor(problem: Inexact) {
    this.problem = problem
  }
}

/** Parses one JSON value. Never throws; says what is inexact and where. */
export function parseExact(text: string): ExactResult {
  if (!text.isWellFormed()) return { ok: false, problem: 'surrogate', path: '' }
  const scanned = scan(text, text.length >= quickFrom)
  return scanned === dense ? (parseQuickly(text) ?? patiently(text)) : scanned
}

/** A scan steps over large strings in no time; of many small values and of escapes an impatient one says `dense`. */
function scan(text: string, isImpatient: boolean): ExactResult | typeof dense {
  const scanner = new Scanner(text, isImpatient)
  try {
    scanner.document()
  } catch (thrown) {
    if (thrown === dense) return dense
    if (!(thrown instanceof Problem)) throw thrown
    return { ok: false, problem: thrown.problem, path: scanner.pointer() }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { ok: false, problem: 'syntax', path: '' }
  }
  return { ok: true, value, canonical: scanner.isCanonical ? text : canonicalJson(value) }
}

function patiently(text: string): ExactResult {
  return scan(text, false) as ExactResult
}

const dense = Symbol('dense')
/** Values that an impatient scan steps over in any case, and how many characters each must be worth then. */
const fewValues = 16
const largeValue = 64

/** Shorter text is scanned as quickly. */
const quickFrom = 1024
/** Numbers that may not be exact, halves of pairs, `__proto__`; also text that only looks so. */
const closerLook = /\d[\d.]{15}|\d[eE]|\\u[dD][89a-fA-F]|__proto__/

/**
 * Large text that is compact already, in a third of the time: what canonical form does to text like that can only make
 * it shorter, and a key that came twice makes it shorter too. So if nothing became shorter, nothing was there to find.
 */
function parseQuickly(text: string): ExactResult | undefined {
  if (text.length < quickFrom || closerLook.test(text)) return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isShallow(value, maxDepth)) return undefined
  const canonical = canonicalJson(value)
  return canonical.length === text.length ? { ok: true, value, canonical } : undefined
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true
  if (levels === 0) return false
  for (const member of Array.isArray(value) ? value : Object.values(value))
    if (!isShallow(member, levels - 1)) return false
  return true
}

const quote = 34
const backslash = 92

class Scanner {
  isCanonical = true
  readonly #text: string
  readonly #path: (string | number)[] = []
  #at = 0
  readonly #isImpatient: boolean
  #values = 0
  /** Position of the next backslash at or after `#at`, so that strings without one are skipped in one step. */
  #nextEscape: number

  constructor(text: string, isImpatient: boolean) {
    this.#text = text
    this.#isImpatient = isImpatient
    this.#nextEscape = this.#escapeFrom(0)
  }

  pointer(): string {
    return this.#path
      .map((step) => `/${String(step).replace(/~/g, '~0').replace(/\//g, '~1')}`)
      .join('')
  }

  document(): void {
    this.#space()
    this.#value(0)
    this.#space()
    if (this.#at !== this.#text.length) throw new Problem('syntax')
  }

  #escapeFrom(from: number): number {
    const found = this.#text.indexOf('\\', from)
    return found < 0 ? this.#text.length : found
  }

  #space(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at)
      if (code > 32 || (code !== 32 && code !== 10 && code !== 13 && code !== 9)) return
      this.isCanonical = false
      this.#at++
    }
  }

  #value(depth: number): void {
    this.#values++
    if (this.#isImpatient && this.#values > fewValues && this.#values * largeValue > this.#at)
      throw dense
    switch (this.#text.charCodeAt(this.#at)) {
      case 123:
        this.#object(depth + 1)
        break
      case 91:
        this.#array(depth + 1)
        break
      case quote:
        this.#string()
        break
      default:
        this.#scalar()
    }
  }

  #object(depth: number): void {
    if (depth > maxDepth) throw new Problem('depth')
    this.#at++
    this.#space()
    if (this.#take(125)) return
    const keys: string[] = []
    let seen: Set<string> | undefined
    for (;;) {
      const key = this.#key()
      this.#path.push(key)
      const last = keys.at(-1)
      if (last !== undefined && !(key > last)) {
        this.isCanonical = false
        seen ??= new Set(keys)
      }
      if (seen?.has(key)) throw new Problem('duplicate_key')
      seen?.add(key)
      keys.push(key)
      if (key === '__proto__') throw new Problem('proto')
      this.#space()
      if (!this.#take(58)) throw new Problem('syntax')
      this.#space()
      this.#value(depth)
      this.#path.pop()
      this.#space()
      if (this.#take(125)) return
      if (!this.#take(44)) throw new Problem('syntax')
      this.#space()
    }
  }

  #array(depth: number): void {
    if (depth > maxDepth) throw new Problem('depth')
    this.#at++
    this.#space()
    if (this.#take(93)) return
    for (let index = 0; ; index++) {
      this.#path.push(index)
      this.#value(depth)
      this.#path.pop()
      this.#space()
      if (this.#take(93)) return
      if (!this.#take(44)) throw new Problem('syntax')
      this.#space()
    }
  }

  #take(code: number): boolean {
    if (this.#text.charCodeAt(this.#at) !== code) return false
    this.#at++
    return true
  }

  #key(): string {
    if (this.#text.charCodeAt(this.#at) !== quote) throw new Problem('syntax')
    const start = this.#at
    const escaped = this.#string()
    const raw = this.#text.slice(start, this.#at)
    if (!escaped) return raw.slice(1, -1)
    try {
      return JSON.parse(raw) as string
    } catch {
      throw new Problem('syntax')
    }
  }

  /** Moves past a string; true when it holds an escape. */
  #string(): boolean {
    const text = this.#text
    let end = text.indexOf('"', this.#at + 1)
    if (end < 0) throw new Problem('syntax')
    if (this.#nextEscape <= this.#at) this.#nextEscape = this.#escapeFrom(this.#at)
    if (end < this.#nextEscape) {
      this.#at = end + 1
      return false
    }
    if (this.#isImpatient) throw dense
    this.isCanonical = false
    const start = this.#at
    for (end = this.#nextEscape; ; ) {
      const code = text.charCodeAt(end)
      if (code === quote) break
      if (Number.isNaN(code)) throw new Problem('syntax')
      end += code === backslash ? 2 : 1
    }
    this.#at = end + 1
    this.#nextEscape = this.#escapeFrom(this.#at)
    wellFormed(text.slice(start, this.#at))
    return true
  }

  #scalar(): void {
    const start = this.#at
    const text = this.#text
    let onlyDigits = true
    for (let code = text.charCodeAt(start); !isEnd(code); code = text.charCodeAt(++this.#at))
      if (code < 48 || code > 57) onlyDigits = false
    const length = this.#at - start
    const begin = text.charCodeAt(start)
    // Most numbers; below fifteen digits every one is exact and canonical.
    if (onlyDigits && length > 0 && length < 15 && (begin !== 48 || length === 1)) return
    const word = text.slice(start, this.#at)
    if (word === 'true' || word === 'false' || word === 'null') return
    if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word)) throw new Problem('syntax')
    const canonical = canonicalNumber(word)
    if (canonical === undefined) throw new Problem('number')
    if (canonical !== word) this.isCanonical = false
  }
}

/** What ends a scalar; NaN is the end of the text. */
function isEnd(code: number): boolean {
  return (
    code === 44 ||
    code === 125 ||
    code === 93 ||
    code === 32 ||
    code === 10 ||
    code === 13 ||
    code === 9 ||
    Number.isNaN(code)
  )
}

/** The text itself is well formed, so half a pair can only come from a `\u` escape. */
function wellFormed(raw: string): void {
  if (!/\\u[dD][89a-fA-F]/.test(raw)) return
  let value: string
  try {
    value = JSON.parse(raw) as string
  } catch {
    throw new Problem('syntax')
  }
  if (!value.isWellFormed()) throw new Problem('surrogate')
}

/** Doubles need fewer; more is padding with zeros, and would make the comparison of decimals expensive. */
const longestNumber = 1024

/** The canonical spelling of a number, or undefined when no double has its decimal value. */
function canonicalNumber(word: string): string | undefined {
  if (word.length > longestNumber) return undefined
  const value = Number(word)
  if (!Number.isFinite(value)) return undefined
  const canonical = Object.is(value, -0) ? '0' : String(value)
  if (canonical === word) return word
  return decimal(word) === decimal(canonical) ? canonical : undefined
}

/** Sign, significant digits and power of ten: equal for equal decimal values. */
function decimal(word: string): string {
  const [mantissa = '', exponent = '0'] = word.replace(/^-/, '').split(/[eE]/)
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  const power =
    BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - significant.length)
  return `${word.startsWith('-') ? '-' : ''}${significant}e${power}`
}
