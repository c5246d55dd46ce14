/** Verifies here what the gateway only hands out: who audits it need not believe it, and its calls do not wait. */
import type { ExecutionId } from '@sallyport/protocol'
import {
  type ExecutionRecord,
  type ExecutionRow,
  type JournalReport,
  JournalVerifier,
} from '@sallyport/protocol/node'
import type { Run } from '../run.ts'
import { journalIn, journalOf } from './read-journal.ts'

const rowsAtOnce = 500

/** By itself: an exported journal holds no rows. */
export async function verifyFile(path: string): Promise<JournalReport> {
  const verifier = new JournalVerifier()
  for await (const line of journalIn(path)) verifier.add(line)
  return verifier.report()
}

/** Of the running Sallyport, and whether its rows say the same. */
export async function verifyRunning(call: Run['call']): Promise<JournalReport> {
  const ended: ExecutionRecord[] = []
  const verifier = new JournalVerifier((record) => ended.push(record))
  const rows = new RowComparison(call, verifier)
  const read = async (from?: string | null): Promise<string | null> => {
    let last: string | null = null
    for await (const { lines, resume } of journalOf(call, { resume: from ?? undefined })) {
      for (const line of lines) verifier.add(line)
      await rows.compare(ended.splice(0))
      last = resume
    }
    return last
  }
  const resume = await read()
  await rows.compare(verifier.open())
  if (rows.ahead.size > 0) {
    await read(resume)
    rows.settleAhead(verifier.open())
  }
  return verifier.report()
}

class RowComparison {
  readonly #call: Run['call']
  readonly #verifier: JournalVerifier
  /** Rows that had come further than what was read: to which sequence. What is read afterwards must say so. */
  readonly ahead = new Map<string, number>()

  constructor(call: Run['call'], verifier: JournalVerifier) {
    this.#call = call
    this.#verifier = verifier
  }

  async compare(records: readonly ExecutionRecord[]): Promise<void> {
    for (let at = 0; at < records.length; at += rowsAtOnce) {
      const some = records.slice(at, at + rowsAtOnce)
      const ids = some.map(({ execution }) => execution as ExecutionId)
      const { items } = await this.#call('audit.executions', { body: { ids } })
      const rows = new Map<string, ExecutionRow>(items.map((row) => [row.id, row]))
      for (const record of some) this.#compareOne(record, rows.get(record.execution))
    }
  }

  settleAhead(open: readonly ExecutionRecord[]): void {
    for (const record of open)
      if (record.sequence < (this.ahead.get(record.execution) ?? 0)) this.#verifier.ahead(record)
  }

  #compareOne(record: ExecutionRecord, row: ExecutionRow | undefined): void {
    const isExplained = this.#verifier.compare(record, row)
    if (row && !isExplained) this.ahead.set(record.execution, row.sequence)
  }
}
