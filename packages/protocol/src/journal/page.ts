/**
 * A page: the events that one transaction appended to a stream, as JSON text. The text names the hash of the page before
 * it, and is hashed byte for byte as it stands; nobody has to write it again to check it.
 */
import { z } from 'zod'
import { type Digest, digestBytes } from '../digest.ts'
import { batchPayload } from '../worker-wire.ts'
import { type JournalEvent, journalEvent } from './event.ts'
import { type JournalSigner, signJournal } from './journal-key.ts'

export interface PageContent {
  readonly v: 1
  readonly stream: string
  /** Sequence of its first event in the stream; those that follow count up. */
  readonly first: number
  /** Null in the first page of a stream. */
  readonly previous: Digest | null
  /** The gateway that appends to the stream. */
  readonly instance: string
  /** Of the first page: `signOpening` of its stream, so that nobody else begins one in its gateway's name. */
  readonly opening?: string | undefined
  /** ms since 1970, that gateway's clock. */
  readonly at: number
  /**
   * Names the signed batch of intents that left in this transaction: digest over the intent digests of its `dispatching`
   * events, in their order.
   */
  readonly batch?: Digest | undefined
  readonly events: readonly JournalEvent[]
}

export interface PageText {
  readonly text: string
  readonly hash: Digest
}

export function composePage(content: PageContent): PageText {
  const { v, stream, first, previous, instance, opening, at, batch, events } = content
  const text = inAscii(
    JSON.stringify({ v, stream, first, previous, instance, opening, at, batch, events }),
  )
  return { text, hash: digestBytes(text) }
}

interface Opening {
  readonly stream: string
  readonly instance: string
}

export function signOpening({ stream, instance }: Opening, signer: JournalSigner): string {
  return signJournal({ v: 1, stream, instance }, signer)
}

const opening = z.strictObject({ v: z.literal(1), stream: z.string(), instance: z.string() })

/** Whether it is what `signOpening` signed for this stream. */
export function isOpening(content: unknown, { stream, instance }: Opening): boolean {
  const { success, data } = opening.safeParse(content)
  return success && data.stream === stream && data.instance === instance
}

/** Names of tools may be in any script, or in characters that a terminal acts on: an export shows neither. */
function inAscii(json: string): string {
  if (Buffer.byteLength(json) === json.length) return json
  return json.replace(
    /[^\0-\x7f]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

export function batchOf(intentDigests: readonly string[]): Digest {
  return digestBytes(batchPayload(intentDigests as readonly Digest[]))
}

const page = z.strictObject({
  v: z.literal(1),
  stream: z.string(),
  first: z.int().positive(),
  previous: z.string().nullable(),
  instance: z.string(),
  opening: z.string().optional(),
  at: z.int(),
  batch: z.string().optional(),
  events: z.array(journalEvent).min(1),
})
export type ReadPage = z.infer<typeof page>

/** Undefined for what `composePage` never makes. */
export function readPage(value: unknown): ReadPage | undefined {
  return page.safeParse(value).data
}
