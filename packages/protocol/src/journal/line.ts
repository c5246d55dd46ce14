/**
 * The journal as lines of JSON, in the order in which it was kept: first what the file is, then keys, pages and
 * checkpoints, last the end. Gateways write it, and whoever has it can check it.
 */
import { z } from 'zod'
import { journalJwk } from './journal-key.ts'

const header = z.object({
  v: z.literal(1),
  /** When it was read, ms since 1970. */
  at: z.int(),
  /** Where a file begins that does not hold the whole journal. */
  from: z.object({ checkpoint: z.int() }).nullable(),
})
const key = z.object({ kid: z.string(), jwk: journalJwk, at: z.int() })
const checkpoint = z.object({
  sequence: z.int(),
  at: z.int(),
  position: z.int(),
  jws: z.string(),
})
const end = z.object({
  /** The newest checkpoint that the gateway knows of. */
  checkpoint: z.int().nullable(),
})
export type JournalHeader = Readonly<z.infer<typeof header>>
export type KeyLine = Readonly<z.infer<typeof key>>
export type CheckpointLine = Readonly<z.infer<typeof checkpoint>>
export type EndLine = Readonly<z.infer<typeof end>>

/** A page as it is kept; `text` is what `hash` is over. */
export interface PageLine {
  readonly stream: string
  readonly first: number
  readonly last: number
  readonly hash: string
  readonly text: string
}

export const headerLine = (journal: JournalHeader): string => JSON.stringify({ journal })
export const keyLine = ({ kid, jwk, at }: KeyLine): string =>
  JSON.stringify({ key: { kid, jwk, at } })
export const checkpointLine = ({ sequence, at, position, jws }: CheckpointLine): string =>
  JSON.stringify({ checkpoint: { sequence, at, position, jws } })
export const endLine = ({ checkpoint }: EndLine): string => JSON.stringify({ end: { checkpoint } })

const pageMark = ',"page":'

/** The text stands in the line as it is; what is no JSON any more is told as text. */
export function pageLine({ stream, first, last, hash, text }: PageLine): string {
  const columns = JSON.stringify({ stream, first, last, hash }).slice(0, -1)
  return isOneLine(text)
    ? `${columns}${pageMark}${text}}`
    : `${columns},"damaged":${JSON.stringify(text)}}`
}

function isOneLine(text: string): boolean {
  if (/[\r\n]/.test(text)) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const page = z.object({
  stream: z.string(),
  first: z.int(),
  last: z.int(),
  hash: z.string(),
  page: z.unknown().optional(),
  damaged: z.string().optional(),
})

export type ReadLine =
  | { readonly kind: 'header'; readonly header: JournalHeader }
  | { readonly kind: 'key'; readonly key: KeyLine }
  | { readonly kind: 'checkpoint'; readonly checkpoint: CheckpointLine }
  /** `value` is the text of the page, parsed. */
  | { readonly kind: 'page'; readonly page: PageLine; readonly value: unknown }
  | { readonly kind: 'end'; readonly end: EndLine }

const others = z.union([
  z.object({ journal: header }).transform(({ journal }) => ({ kind: 'header', header: journal })),
  z.object({ key }).transform((line) => ({ kind: 'key', ...line })),
  z.object({ checkpoint }).transform((line) => ({ kind: 'checkpoint', ...line })),
  z.object({ end }).transform((line) => ({ kind: 'end', ...line })),
])

/** Undefined for what no gateway writes. */
export function readLine(line: string): ReadLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  return readPageLine(line, value) ?? (others.safeParse(value).data as ReadLine | undefined)
}

function readPageLine(line: string, value: unknown): ReadLine | undefined {
  const { success, data } = page.safeParse(value)
  if (!success) return undefined
  const { page: content, damaged, ...columns } = data
  const at = line.indexOf(pageMark)
  const text = damaged ?? (at < 0 ? '' : line.slice(at + pageMark.length, line.lastIndexOf('}')))
  return { kind: 'page', page: { ...columns, text }, value: content }
}
