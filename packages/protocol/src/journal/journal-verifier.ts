/**
 * Checks a journal line by line, with nothing but the lines: streams without a gap and linked, executions contiguous
 * across them, checkpoints signed and linked and in agreement with both. Order decides nothing that is found; memory
 * holds what is open: streams, unfinished executions, pages that no checkpoint has listed yet.
 */
import { digestBytes } from '../digest.ts'
import { CheckpointChain } from './checkpoint-chain.ts'
import {
  compareRow,
  ExecutionBook,
  type ExecutionRecord,
  type ExecutionRow,
} from './execution-book.ts'
import { type Finding, Findings, type Place } from './finding.ts'
import { KeyRing, type KeyUse } from './journal-key.ts'
import {
  type CheckpointLine,
  type JournalHeader,
  type KeyLine,
  type PageLine,
  readLine,
} from './line.ts'
import { batchOf, isOpening, type ReadPage, readPage } from './page.ts'
import { StreamBook } from './stream-book.ts'

export interface JournalReport {
  /** Where the part begins that was read; null: at the beginning of the journal. */
  readonly from: { readonly checkpoint: number } | null
  readonly checked: {
    readonly streams: number
    readonly pages: number
    readonly events: number
    readonly executions: number
    readonly checkpoints: number
    /** Executions whose rows were compared. */
    readonly rows: number
  }
  readonly newestCheckpoint: { readonly sequence: number; readonly at: number } | null
  /** Pages that are too young to be known to a checkpoint, and are not. */
  readonly notYetCovered: number
  readonly keys: readonly KeyUse[]
  readonly findings: readonly Finding[]
  /** Findings beyond those. */
  readonly more: number
}

export class JournalVerifier {
  readonly #findings = new Findings()
  readonly #streams = new StreamBook(this.#findings)
  readonly #keys = new KeyRing()
  readonly #chain = new CheckpointChain(this.#findings, this.#keys)
  readonly #executions: ExecutionBook
  #header: JournalHeader | undefined
  #hasEnded = false
  #newestKnown: number | null = null
  #lines = 0
  #pages = 0
  #events = 0
  #rows = 0

  /** `onEnd` hears of each execution that came to a final state, to have its row compared. */
  constructor(onEnd: (record: ExecutionRecord) => void = () => {}) {
    this.#executions = new ExecutionBook(this.#findings, onEnd)
  }

  /** The next line, without its end. */
  add(text: string): void {
    this.#lines++
    const line = readLine(text)
    switch (line?.kind) {
      case 'header':
        this.#begin(line.header)
        break
      case 'key':
        this.#addKey(line.key)
        break
      case 'page':
        this.#addPage(line.page, line.value)
        break
      case 'checkpoint':
        this.#addCheckpoint(line.checkpoint)
        break
      case 'end':
        this.#hasEnded = true
        this.#newestKnown = line.end.checkpoint
        break
      case undefined:
        this.#findings.add('unreadable_line', { line: this.#lines })
        break
    }
  }

  /** Executions that are not in a final state, as far as was read. */
  open(): ExecutionRecord[] {
    return this.#executions.open()
  }

  /**
   * Compares what the journal says with the row. False when the row has come further than what was read: that is wrong
   * unless more is read that says so.
   */
  compare(record: ExecutionRecord, row: ExecutionRow | undefined): boolean {
    const result = compareRow(record, row)
    if (result === 'ahead') return false
    this.#rows++
    if (result !== undefined) this.#findings.add(result.kind, placeOf(record, result))
    return true
  }

  /** Nothing that was read explains the row that is ahead. */
  ahead(record: ExecutionRecord): void {
    this.#findings.add('row_differs', placeOf(record, { field: 'sequence' }))
  }

  /** Once, after the last line. */
  report(): JournalReport {
    if (!this.#hasEnded) this.#findings.add('cut_off', { line: this.#lines })
    this.#chain.finish(this.#newestKnown)
    const { pages } = this.#streams.finish(this.#header?.at ?? 0)
    return {
      from: this.#header?.from ?? null,
      checked: {
        streams: this.#streams.size,
        pages: this.#pages,
        events: this.#events,
        executions: this.#executions.count,
        checkpoints: this.#chain.count,
        rows: this.#rows,
      },
      newestCheckpoint: this.#chain.newest,
      notYetCovered: pages,
      keys: this.#keys.uses(),
      ...this.#findings.list(),
    }
  }

  /** More of the same journal may follow under a header of its own; where it began is said by the first. */
  #begin(header: JournalHeader): void {
    this.#header = { ...header, from: this.#header ? this.#header.from : header.from }
    this.#hasEnded = false
    const { from } = this.#header
    this.#streams.isPart = from !== null
    this.#executions.isPart = from !== null
    this.#chain.base = from?.checkpoint ?? null
  }

  #addKey({ kid, jwk }: KeyLine): void {
    if (!this.#keys.add(kid, jwk)) this.#findings.add('key_changed', { kid })
  }

  #addPage(line: PageLine, value: unknown): void {
    const page = readPage(value)
    const { stream, first } = line
    const isSound = digestBytes(line.text) === line.hash && page !== undefined && isOf(page, line)
    if (!isSound) this.#findings.add('page_changed', { stream, sequence: first })
    this.#pages++
    this.#streams.add(line, page)
    if (!page) return
    if (first === 1 && !this.#isOpened(page)) this.#findings.add('stream_unsigned', { stream })
    const dispatched = page.events.filter(({ kind }) => kind === 'dispatching')
    if (page.batch && page.batch !== batchOf(dispatched.map((one) => String(one.intentDigest))))
      this.#findings.add('batch_differs', { stream, sequence: first })
    for (const [at, event] of page.events.entries())
      this.#executions.add(event, page.instance, { stream, sequence: first + at })
    this.#events += page.events.length
  }

  #isOpened(page: ReadPage): boolean {
    const opened = this.#keys.open(page.opening ?? '', 'streams')
    return 'content' in opened && isOpening(opened.content, page)
  }

  #addCheckpoint(line: CheckpointLine): void {
    const content = this.#chain.add(line)
    if (!content) return
    const isBase = content.sequence === this.#header?.from?.checkpoint
    for (const { stream, sequence, hash } of content.heads)
      this.#streams.list(stream, { sequence, hash, checkpoint: content.sequence }, isBase)
  }
}

function placeOf({ execution, place }: ExecutionRecord, { field }: { field?: string }): Place {
  return { execution, ...place, ...(field === undefined ? {} : { field }) }
}

function isOf(page: ReadPage, line: PageLine): boolean {
  const last = page.first + page.events.length - 1
  return page.stream === line.stream && page.first === line.first && last === line.last
}
