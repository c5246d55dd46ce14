/** Follows every stream: its pages without a gap, each linked to the one before, and up to where checkpoints know it. */
import type { Findings } from './finding.ts'
import type { PageLine } from './line.ts'
import type { ReadPage } from './page.ts'

interface Stream {
  /** Sequence that the next page begins with. */
  next: number
  /** Of the page before it. */
  hash: string | null
  /** Ranges that were passed over, until a page fills them. */
  gaps: { from: number; to: number }[]
  /** Pages that no checkpoint has listed yet. */
  uncovered: Uncovered[]
  /** Heads that a checkpoint listed and no page has reached yet. */
  awaited: Listed[]
}

interface Uncovered {
  readonly first: number
  readonly last: number
  readonly hash: string
  readonly at: number
}

interface Listed {
  readonly sequence: number
  readonly hash: string
  readonly checkpoint: number
}

/** A page is covered by a checkpoint when it is older than this, whoever wrote it and whatever the clocks say. */
export const coveredWithinMs = 600_000

export class StreamBook {
  readonly #findings: Findings
  readonly #streams = new Map<string, Stream>()
  /** The journal was not read from its beginning: a stream may begin anywhere. */
  isPart = false

  constructor(findings: Findings) {
    this.#findings = findings
  }

  get size(): number {
    return this.#streams.size
  }

  /** `page` is undefined when its text cannot be read; its columns then say where it stands. */
  add({ stream: id, first, last, hash }: PageLine, page: ReadPage | undefined): void {
    const stream = this.#streams.get(id) ?? this.#begin(id, first, page)
    if (first < stream.next) {
      this.#late(id, stream, first, last)
      return
    }
    if (first > stream.next) stream.gaps.push({ from: stream.next, to: first - 1 })
    else if (page && page.previous !== stream.hash)
      this.#findings.add('page_unlinked', { stream: id, sequence: first })
    stream.next = last + 1
    stream.hash = hash
    stream.uncovered.push({ first, last, hash, at: page?.at ?? Number.POSITIVE_INFINITY })
    this.#reached(id, stream)
  }

  /** A checkpoint lists a head. `isBase`: it may be of before the part that is read. */
  list(id: string, head: Listed, isBase: boolean): void {
    const known = this.#streams.get(id)
    if (isBase && (!known || head.sequence < (known.uncovered[0]?.first ?? 0))) return
    const stream = known ?? this.#begin(id, 1, undefined)
    stream.awaited.push(head)
    this.#reached(id, stream)
  }

  /** Ends the reading; `at` is when that was, in ms since 1970. How much is not covered yet, because it is young. */
  finish(at: number): { readonly pages: number } {
    let pages = 0
    for (const [id, stream] of this.#streams) {
      for (const { from } of stream.gaps)
        this.#findings.add('page_missing', { stream: id, sequence: from })
      for (const { checkpoint } of stream.awaited.slice(0, 1)) {
        const kind = stream.next === 1 ? 'stream_missing' : 'tail_missing'
        this.#findings.add(kind, { stream: id, sequence: stream.next, checkpoint })
      }
      for (const page of stream.uncovered) {
        if (page.at >= at - coveredWithinMs) pages++
        else this.#findings.add('not_covered', { stream: id, sequence: page.last })
      }
    }
    return { pages }
  }

  #begin(id: string, first: number, page: ReadPage | undefined): Stream {
    const start =
      this.isPart && page ? { next: first, hash: page.previous } : { next: 1, hash: null }
    const stream = { ...start, gaps: [], uncovered: [], awaited: [] }
    this.#streams.set(id, stream)
    return stream
  }

  #late(id: string, stream: Stream, first: number, last: number): void {
    const at = stream.gaps.findIndex(({ from, to }) => from <= first && last <= to)
    const place = { stream: id, sequence: first }
    const gap = stream.gaps[at]
    this.#findings.add(gap ? 'page_out_of_order' : 'page_repeated', place)
    if (!gap) return
    const rest = [
      { from: gap.from, to: first - 1 },
      { from: last + 1, to: gap.to },
    ]
    stream.gaps.splice(at, 1, ...rest.filter(({ from, to }) => from <= to))
  }

  /** Lets go of what checkpoints know, as far as the stream is read. */
  #reached(id: string, stream: Stream): void {
    const { awaited } = stream
    for (let head = awaited[0]; head && head.sequence < stream.next; head = awaited[0]) {
      const { sequence, hash, checkpoint } = head
      awaited.shift()
      const page = stream.uncovered.find(({ last }) => last >= sequence)
      // Not there: two gateways listed the stream at the same time, or the page is missing and told as that.
      const isThere = page !== undefined && page.first <= sequence
      if (isThere && (page.last !== sequence || page.hash !== hash))
        this.#findings.add('head_differs', { stream: id, sequence, checkpoint })
      stream.uncovered = stream.uncovered.filter(({ first }) => first > sequence)
    }
  }
}
