/**
 * Writes a pattern of ECMA-262 (what JSON Schema means by `pattern`) in the syntax of RE2, which runs in time linear in
 * its text. Nothing is captured. What RE2 cannot express is refused.
 */
export class NotLinear extends Error {}

/** `size` is about the number of instructions of the program. */
export interface Re2Pattern {
  readonly text: string
  readonly size: number
}

const sizeLimit = 4000
const lengthLimit = 4096

/** Throws NotLinear. */
export function toRe2(pattern: string): Re2Pattern {
  if (pattern.length > lengthLimit) throw new NotLinear('too long')
  return new Translation(pattern, isUnicode(pattern)).run()
}

/** JSON Schema asks for unicode patterns; what is valid only without (`[\w-.]`) is read that way. */
function isUnicode(pattern: string): boolean {
  if (isPattern(pattern, 'u')) return true
  if (isPattern(pattern, '')) return false
  throw new NotLinear('not a pattern')
}

function isPattern(pattern: string, flags: string): boolean {
  try {
    new RegExp(pattern, flags)
    return true
  } catch {
    return false
  }
}

/** RE2 means only ASCII spaces by `\s`, and only a line feed is no `.` for it. */
const spaces =
  '\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const notSpaces =
  '\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}' +
  '\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}'
const notLineEnd = '[^\\x{a}\\x{d}\\x{2028}\\x{2029}]'
const everything = '\\x{0}-\\x{10ffff}'
const controls: Record<string, number> = { t: 9, n: 10, v: 11, f: 12, r: 13 }

const point = (code: number): string => `\\x{${code.toString(16)}}`

/** The pattern is known to be valid, so this only looks at what it means. */
class Translation {
  readonly #pattern: string
  readonly #unicode: boolean
  #at = 0
  #text = ''
  /** Instructions so far of each group that is open; the whole pattern is the first. */
  readonly #sizes = [0]
  #lastSize = 0

  constructor(pattern: string, unicode: boolean) {
    this.#pattern = pattern
    this.#unicode = unicode
  }

  run(): Re2Pattern {
    while (this.#at < this.#pattern.length) this.#next()
    return { text: this.#text, size: this.#sizes[0] as number }
  }

  /** Moves past what a sticky expression matches here. */
  #take(expression: RegExp): RegExpExecArray | undefined {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#pattern)
    if (found) this.#at = expression.lastIndex
    return found ?? undefined
  }

  #next(): void {
    const assertion = this.#take(/[\^$|*+?]|\\[bB]/y)
    if (assertion) this.#text += assertion[0]
    else if (this.#take(/\(\?<(?![=!])[^>]*>|\(\?:|\((?!\?)/y)) this.#open()
    else if (this.#take(/\(/y)) throw new NotLinear('a look around')
    else if (this.#take(/\)/y)) this.#close()
    else if (this.#take(/\./y)) this.#atom(notLineEnd)
    else if (this.#take(/\[/y)) this.#atom(this.#class())
    else if (!this.#repeat()) this.#literal()
  }

  #atom(text: string): void {
    this.#text += text
    this.#count(1)
  }

  #count(size: number): void {
    const total = (this.#sizes.pop() as number) + size
    if (total > sizeLimit) throw new NotLinear('too large')
    this.#sizes.push(total)
    this.#lastSize = size
  }

  #open(): void {
    this.#text += '(?:'
    this.#sizes.push(0)
  }

  #close(): void {
    this.#text += ')'
    this.#count(1 + (this.#sizes.pop() as number))
  }

  /** `{` that begins no count is a character; only patterns that are not unicode have that. */
  #repeat(): boolean {
    const found = this.#take(/\{(\d+)(?:(,)(\d*))?\}/y)
    if (!found) return false
    const [text, least = '', comma, most] = found
    const times = comma && !most ? Number(least) + 1 : Number(most || least)
    this.#text += text
    this.#count(this.#lastSize * Math.max(times - 1, 0))
    return true
  }

  #literal(): void {
    const atom = this.#character(false)
    this.#atom(typeof atom === 'number' ? point(atom) : `[${atom}]`)
  }

  #class(): string {
    const inverted = this.#take(/\^/y) !== undefined
    let members = ''
    while (!this.#take(/\]/y)) {
      const first = this.#character(true)
      const ranged = typeof first === 'number' && this.#take(/-(?!\])/y)
      const last = ranged ? this.#character(true) : ''
      if (ranged && typeof last === 'number') members += `${point(first)}-${point(last)}`
      else
        members += `${typeof first === 'number' ? point(first) : first}${ranged ? point(45) : ''}${last}`
    }
    if (members === '') return `[${inverted ? '' : '^'}${everything}]`
    return `[${inverted ? '^' : ''}${members}]`
  }

  /** A code point, or what stands for a set of them inside brackets. */
  #character(inClass: boolean): number | string {
    if (!this.#take(/\\/y)) return codeOf(this.#take(/./suy))
    const letter = this.#take(/./suy)?.[0] ?? ''
    if (/[dDwW]/.test(letter)) return `\\${letter}`
    if (letter === 's') return spaces
    if (letter === 'S') return notSpaces
    if (/[pP]/.test(letter)) return this.#property(letter)
    if (letter === 'u') return this.#unicodeEscape()
    if (letter === 'x') return hexOf(this.#take(/[0-9a-f]{2}/iy)) ?? 0x78
    if (letter === 'b' && inClass) return 8
    const control = letter === 'c' ? this.#take(/[a-z]/iy) : undefined
    if (control) return codeOf(control) % 32
    if (letter === '0' && !this.#take(/\d/y)) return 0
    if (/[0-9kc]/.test(letter)) throw new NotLinear('a backreference')
    return controls[letter] ?? (letter.codePointAt(0) as number)
  }

  #unicodeEscape(): number {
    const braced = this.#unicode ? hexOf(this.#take(/\{[0-9a-f]+\}/iy)) : undefined
    if (braced !== undefined) return braced
    const unit = hexOf(this.#take(/[0-9a-f]{4}/iy))
    if (unit === undefined) return 0x75
    const low = unit >= 0xd800 && unit < 0xdc00 ? this.#take(/\\u(d[c-f][0-9a-f]{2})/iy) : undefined
    if (!low) return unit
    return 0x10000 + (unit - 0xd800) * 0x400 + (Number.parseInt(low[1] as string, 16) - 0xdc00)
  }

  /** Only the names that both engines have, and mean the same by. */
  #property(letter: string): string {
    // Without unicode it is the letter itself, which nobody means by it.
    if (!this.#unicode) throw new NotLinear('a property')
    const [, name = ''] = this.#take(/\{(?:(?:sc|Script|gc|General_Category)=)?(\w+)\}/y) ?? []
    return `\\${letter}{${longNames[name] ?? name}}`
  }
}

const codeOf = (found: RegExpExecArray | undefined): number => found?.[0].codePointAt(0) as number

function hexOf(found: RegExpExecArray | undefined): number | undefined {
  return found ? Number.parseInt(found[0].replace('{', ''), 16) : undefined
}

const longNames: Record<string, string> = {
  Letter: 'L',
  Lowercase_Letter: 'Ll',
  Uppercase_Letter: 'Lu',
  Mark: 'M',
  Number: 'N',
  Decimal_Number: 'Nd',
  Punctuation: 'P',
  Symbol: 'S',
  Separator: 'Z',
  Other: 'C',
}
