/** Arguments and results as a person reads them: everything in them stays behind a margin, and none of it is ours. */
import { shownText } from './shown-text.ts'
import { wrap } from './width.ts'

const margin = '  '
/** Before what goes on from the line above: blanks in it must not look like the end of it. */
const goesOn = '| '

interface Line {
  readonly depth: number
  readonly text: string
}

/**
 * JSON, one member a line, escaped; a text with line ends goes on in a new line after each. Nothing is left out. Text that
 * is not JSON is shown as it is.
 */
export function formattedJson(canonical: string, width: number): string[] {
  const value = parse(canonical)
  if (value === undefined) return rawJson(canonical, width)
  return [...linesOf(value, 0, '', '')].flatMap((line) => fit(line, width))
}

/** The exact text in ASCII: the same value to every parser. In pieces that put together again are the whole. */
export function rawJson(canonical: string, width: number): string[] {
  const ascii = canonical.replace(
    /[^ -~]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const pieces = ascii.match(new RegExp(`.{1,${Math.max(8, width - goesOn.length)}}`, 'g')) ?? ['']
  return pieces.map((piece) => goesOn + piece)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function* linesOf(value: unknown, depth: number, before: string, after: string): Generator<Line> {
  if (typeof value !== 'object' || value === null) {
    yield* textLines(depth, `${before}${quoted(value)}${after}`)
    return
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const members = Object.entries(value).map(
    ([key, member]) => [Array.isArray(value) ? '' : `${quoted(key)}: `, member] as const,
  )
  if (members.length === 0) {
    yield* textLines(depth, `${before}${open}${close}${after}`)
    return
  }
  yield* textLines(depth, `${before}${open}`)
  for (const [at, [name, member]] of members.entries())
    yield* linesOf(member, depth + 1, name, at < members.length - 1 ? ',' : '')
  yield { depth, text: `${close}${after}` }
}

const quoted = (value: unknown): string => shownText(JSON.stringify(value))

/** Parted after each line end that the text has, which stays visible as `\n`. */
function* textLines(depth: number, text: string): Generator<Line> {
  // An even number of backslashes before it are backslashes of the text.
  const parts = text.match(/(?:[^\\]|\\[^n])*?\\n\p{M}*|(?:[^\\]|\\[^n])+$/gu) ?? [text]
  for (const [at, part] of parts.entries())
    yield at === 0 ? { depth, text: part } : { depth: depth + 1, text: goesOn + part }
}

function fit({ depth, text }: Line, width: number): string[] {
  const indent = Math.min(margin.length + depth * 2, Math.floor(width / 2))
  const room = Math.max(8, width - indent)
  const [first = '', ...more] = wrap(text, room, Math.max(8, room - 2 - goesOn.length))
  const behind = ' '.repeat(indent + 2) + goesOn
  return [' '.repeat(indent) + first, ...more.map((piece) => behind + piece)]
}
