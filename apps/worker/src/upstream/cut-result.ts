/**
 * A result over the limit, cut: the items of its content that are there as a whole, the text that was being read when the
 * limit came, and a mark. All else is left out; what is cut in the middle means something else.
 */
import type { Intent } from '@sallyport/protocol/node'
import type { Beginning } from '../http/result-beginning.ts'
import { holdsForm, includesForm } from '../vault/leak-forms.ts'

export interface Cutting {
  /** Most bytes of the cut result. */
  readonly limit: number
  /** Bytes of the whole result. */
  readonly bytes: number
  readonly forms: readonly Buffer[]
  readonly intent: Pick<Intent, 'access' | 'executionId'>
}

/** For the mark and the members around the content. */
const spareBytes = 1024

/** Bytes of the content that have to be kept: what is passed on, and behind it all of a secret that the cut goes through. */
export function contentBytes(limit: number, forms: readonly Buffer[]): number {
  // As long as it is when each of its characters is written as an escape.
  return passedBytes(limit) + 6 * Math.max(0, ...forms.map(({ length }) => length))
}

function passedBytes(limit: number): number {
  return Math.max(0, limit - spareBytes)
}

/**
 * Undefined where nothing sensible can be made of it. `credential`: what would be passed on holds the secret, or begins
 * with a part of it.
 */
export function cutResult(
  { content, isError, resultType }: Beginning,
  { limit, bytes, forms, intent }: Cutting,
): Buffer | 'credential' | undefined {
  const searched = piecesOf(content)
  const passed = piecesOf(content.subarray(0, passedBytes(limit)))
  if (!searched || !passed) return undefined
  const members = [
    ...(resultType === 'complete' ? ['"resultType":"complete"'] : []),
    ...(isError === true ? ['"isError":true'] : []),
  ]
  const cut = compose([...passed, textItem(markOf(bytes, limit, intent))], members)
  const whole = compose(searched, members)
  if (cut.length > limit || !isJson(cut) || !isJson(whole)) return undefined
  return includesForm(content, forms) || holdsForm(whole, forms) ? 'credential' : cut
}

function markOf(bytes: number, limit: number, { access, executionId }: Cutting['intent']): string {
  const next =
    access === 'write' ? 'Do not repeat it.' : 'To see more, ask for less at a time or for a part.'
  return (
    `[Sallyport cut this result: it has ${bytes} bytes, the limit is ${limit}, the rest is left out. ` +
    `The call was done. ${next} Execution: ${executionId ?? 'unknown'}]`
  )
}

function compose(items: readonly Buffer[], members: readonly string[]): Buffer {
  const after = members.map((member) => `,${member}`).join('')
  const separated = items.flatMap((item, at) => (at === 0 ? [item] : [Buffer.from(','), item]))
  return Buffer.concat([Buffer.from('{"content":['), ...separated, Buffer.from(`]${after}}`)])
}

function textItem(text: string): Buffer {
  return Buffer.from(JSON.stringify({ type: 'text', text: text.toWellFormed() }))
}

function isJson(bytes: Buffer): boolean {
  return parsed(bytes.toString()) !== undefined
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const quote = 34
const comma = 44
const openBracket = 91
const backslash = 92
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

/** The items of a JSON array that may be cut off anywhere. Undefined when it is none of objects in UTF-8. */
function piecesOf(json: Buffer): Buffer[] | undefined {
  const pieces: Buffer[] = []
  let at = afterBlanks(json, 0)
  if (at === json.length) return pieces
  if (json[at] !== openBracket) return undefined
  at = afterBlanks(json, at + 1)
  while (at < json.length && json[at] !== closeBracket) {
    if (json[at] !== openBrace) return undefined
    const end = objectEnd(json, at)
    if (end === undefined) {
      const text = begunText(json.subarray(at))
      return text === undefined ? pieces : [...pieces, textItem(text)]
    }
    pieces.push(json.subarray(at, end))
    at = afterBlanks(json, end)
    if (json[at] === comma) at = afterBlanks(json, at + 1)
    else if (at < json.length && json[at] !== closeBracket) return undefined
  }
  return pieces
}

/** Behind the last brace of the object that begins there; undefined when it is not all there. */
function objectEnd(json: Buffer, start: number): number | undefined {
  let depth = 0
  for (let at = start; at < json.length; at++) {
    const byte = json[at]
    if (byte === quote) {
      const end = stringEnd(json, at + 1)
      if (end === undefined) return undefined
      at = end
    } else if (byte === openBrace || byte === openBracket) depth++
    else if (byte === closeBrace || byte === closeBracket) {
      depth--
      if (depth === 0) return at + 1
    }
  }
  return undefined
}

/** Where the quote stands that ends a string whose inside begins at `start`. */
function stringEnd(json: Buffer, start: number): number | undefined {
  for (let from = start; ; ) {
    const end = json.indexOf(quote, from)
    if (end < 0) return undefined
    let first = end
    while (first > start && json[first - 1] === backslash) first--
    if ((end - first) % 2 === 0) return end
    from = end + 1
  }
}

/** The text of an item of that type which ends in the middle of it, or after it. */
function begunText(item: Buffer): string | undefined {
  const json = decoded(item)
  // The longest escape has six characters, and the last of them may be missing.
  for (let missing = 0; missing <= 6; missing++) {
    const value = parsed(`${json.slice(0, json.length - missing)}"}`)
    if (value === undefined) continue
    const { type, text } = value as { readonly type?: unknown; readonly text?: unknown }
    const isText = type === 'text' || type === undefined
    return isText && typeof text === 'string' ? text : undefined
  }
  return undefined
}

/** Without the bytes of a last character that is not all there; empty when it is not UTF-8. */
function decoded(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, {
      stream: true,
    })
  } catch {
    return ''
  }
}

function afterBlanks(json: Buffer, from: number): number {
  let at = from
  while (json[at] === 32 || json[at] === 10 || json[at] === 13 || json[at] === 9) at++
  return at
}
