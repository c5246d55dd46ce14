/**
 * A result over the limit, cut: the items of its content that are there as a whole, the text that was being read when the
 * limit came, and a mark. All else is left out; what is cut in the middle means something else.
 */
import { isUtf8 } from 'node:buffer'
import type { Intent } from '@sallyport/protocol/node'
import type { Beginning } from '../http/result-beginning.ts'
import { parsedJson } from '../parsed-json.ts'
import { holdsForm } from '../vault/leak-forms.ts'

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
  const passed = beginningOf(content.subarray(0, passedBytes(limit)))
  if (!passed) return undefined
  const begun = passed.text === undefined ? [] : [textItem(passed.text)]
  const items = [...passed.items, ...begun, textItem(markOf(bytes, limit, intent))]
  const cut = compose(items, [
    ...(resultType === 'complete' ? ['"resultType":"complete"'] : []),
    ...(isError === true ? ['"isError":true'] : []),
  ])
  if (cut.length > limit || !isUtf8(cut) || parsedJson(cut.toString()) === undefined)
    return undefined
  return holdsForm(content, forms) ? 'credential' : cut
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

const quote = 34
const comma = 44
const openBracket = 91
const backslash = 92
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

interface ListBeginning {
  /** All that are there as a whole, with what is between them, as one: there may be millions. */
  readonly items: readonly Buffer[]
  readonly text: string | undefined
}

/** Of a JSON array that may be cut off anywhere. Undefined when it is none of objects. */
function beginningOf(json: Buffer): ListBeginning | undefined {
  let at = afterBlanks(json, 0)
  if (at === json.length) return { items: [], text: undefined }
  if (json[at] !== openBracket) return undefined
  at = afterBlanks(json, at + 1)
  const first = at
  let last = at
  const upTo = (text?: string): ListBeginning => ({
    items: last > first ? [json.subarray(first, last)] : [],
    text,
  })
  while (at < json.length && json[at] !== closeBracket) {
    if (json[at] !== openBrace) return undefined
    const end = objectEnd(json, at)
    if (end === undefined) return upTo(begunText(json.subarray(at)))
    last = end
    at = afterBlanks(json, end)
    if (json[at] === comma) at = afterBlanks(json, at + 1)
    else if (at < json.length && json[at] !== closeBracket) return undefined
  }
  return upTo()
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
  const json = withoutBegunEscape(decoded(item))
  const value = parsedJson(`${json}"}`) ?? (json.endsWith('"') ? parsedJson(`${json}}`) : undefined)
  if (value === undefined) return undefined
  const { type, text } = value as { readonly type?: unknown; readonly text?: unknown }
  const isText = type === 'text' || type === undefined
  return isText && typeof text === 'string' ? text : undefined
}

/** Found by looking: to try each length would read all of it as often. */
function withoutBegunEscape(json: string): string {
  const begun = /\\(?:u[\da-fA-F]{0,3})?$/.exec(json.slice(-5))
  if (!begun) return json
  const at = json.length - begun[0].length
  let first = at
  while (json[first - 1] === '\\') first--
  return (at - first) % 2 === 0 ? json.slice(0, at) : json
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
