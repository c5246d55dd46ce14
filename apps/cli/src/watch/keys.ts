/** What was typed at a terminal in raw mode, as keys. */

export type KeyName =
  | 'up'
  | 'down'
  | 'home'
  | 'end'
  | 'pageUp'
  | 'pageDown'
  | 'enter'
  | 'escape'
  | 'backspace'
  | 'interrupt'
  | 'suspend'
  | 'redraw'
  | 'eraseLine'
  | 'eraseWord'

/** `typed` is one letter; `pasted` any text, which is never taken for commands. */
export type Key =
  | { readonly kind: 'named'; readonly name: KeyName }
  | { readonly kind: 'typed' | 'pasted'; readonly text: string }

const controls: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x03': 'interrupt',
  '\x1a': 'suspend',
  '\x0c': 'redraw',
  '\x15': 'eraseLine',
  '\x17': 'eraseWord',
}

const sequences: Readonly<Record<string, KeyName>> = {
  '[A': 'up',
  '[B': 'down',
  '[H': 'home',
  '[F': 'end',
  '[1~': 'home',
  '[4~': 'end',
  '[7~': 'home',
  '[8~': 'end',
  '[5~': 'pageUp',
  '[6~': 'pageDown',
  OA: 'up',
  OB: 'down',
  OH: 'home',
  OF: 'end',
  OM: 'enter',
}

const esc = '\x1b'
const pasteBegin = `${esc}[200~`
const pasteEnd = `${esc}[201~`
const longestPaste = 65_536

export class KeyReader {
  #rest = ''

  /** Something may follow what was typed last: an Escape may begin the sequence of another key. */
  get isUnsure(): boolean {
    return this.#rest !== '' && !this.#rest.startsWith(pasteBegin)
  }

  read(text: string): Key[] {
    this.#rest += text
    const keys: Key[] = []
    for (let key = this.#next(); key !== 'more'; key = this.#next()) if (key) keys.push(key)
    return keys
  }

  /** Nothing followed: it was the key itself. */
  settle(): Key[] {
    const wasEscape = this.#rest === esc
    this.#rest = ''
    return wasEscape ? [named('escape')] : []
  }

  /** Undefined for what is no key of ours; `more` when the rest is not a whole key. */
  #next(): Key | undefined | 'more' {
    const rest = this.#rest
    if (rest === '') return 'more'
    if (rest.startsWith(pasteBegin)) return this.#paste()
    if (rest.startsWith(esc)) return this.#sequence()
    const [letter = ''] = rest
    this.#rest = rest.slice(letter.length)
    const name = controls[letter]
    if (name) return named(name)
    return /\p{Cc}/u.test(letter) ? undefined : { kind: 'typed', text: letter }
  }

  #paste(): Key | 'more' {
    const rest = this.#rest
    const end = rest.indexOf(pasteEnd)
    if (end < 0) {
      // What is pasted must not turn into commands because it is long: the middle goes, the end is still waited for.
      if (rest.length > longestPaste)
        this.#rest = rest.slice(0, longestPaste - pasteEnd.length) + rest.slice(1 - pasteEnd.length)
      return 'more'
    }
    this.#rest = rest.slice(end + pasteEnd.length)
    return { kind: 'pasted', text: rest.slice(pasteBegin.length, end) }
  }

  #sequence(): Key | undefined | 'more' {
    if (this.#rest.startsWith(esc + esc)) {
      this.#rest = this.#rest.slice(esc.length)
      return named('escape')
    }
    const [found] = wholeSequence.exec(this.#rest) ?? []
    if (found === undefined) {
      if (this.#rest.length < 32) return 'more'
      this.#rest = ''
      return undefined
    }
    this.#rest = this.#rest.slice(found.length)
    const name = sequences[found.slice(1)]
    return name ? named(name) : undefined
  }
}

/** CSI, SS3, or a letter typed with Alt, which means nothing here. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: this is what keys send
const wholeSequence = /^\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^[O])/u

const named = (name: KeyName): Key => ({ kind: 'named', name })
