/** What the database says, read by the harness itself and not through the product; also between a kill and the next start. */
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'

export interface RowSeen {
  readonly id: string
  readonly state: string
  readonly code: string | null
  readonly session_id: string
  readonly approval_id: string | null
  readonly intent_id: string | null
  readonly write_key: string | null
  readonly barrier_at: number | null
  readonly finished_at: number | null
  readonly result_digest: string | null
  readonly sequence: number
  readonly caller: string | null
  readonly caller_instance: string | null
  readonly gateway_instance: string
  readonly call_id: string
  readonly arguments_digest: string | null
  readonly arrived_at: number
  readonly notes: string
}

export interface ApprovalSeen {
  readonly id: string
  readonly execution_id: string
  readonly state: string
}

/** Of the journal, what laws look at. */
export interface EventSeen {
  readonly kind: string
  readonly execution: string
  readonly sequence: number
}

export interface Ledger {
  readonly rows: ReadonlyMap<string, RowSeen>
  readonly approvals: ReadonlyMap<string, ApprovalSeen>
  /** In the order of the pages; empty when they were not asked for. */
  readonly events: readonly EventSeen[]
}

export type ReadLedger = (options?: { readonly withJournal: boolean }) => Promise<Ledger>

const rowsText = `SELECT id, state, code, session_id, approval_id, intent_id, write_key, barrier_at,
  finished_at, result_digest, sequence, caller, caller_instance, gateway_instance, call_id,
  arguments_digest, arrived_at, notes FROM executions`
const approvalsText = 'SELECT id, execution_id, state FROM approvals'
const pagesText = 'SELECT text FROM journal_pages ORDER BY position'

/** Of a gateway that may be running or dead: a copy is read, so that nothing of it is recovered or held. */
export function sqliteLedger(dataDir: string): ReadLedger {
  return async ({ withJournal } = { withJournal: false }) => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-ledger-'))
    try {
      for (const end of ['', '-wal']) {
        const from = join(dataDir, `sallyport.db${end}`)
        if (existsSync(from)) copyFileSync(from, join(folder, `copy.db${end}`))
      }
      const database = new DatabaseSync(join(folder, 'copy.db'))
      const all = (text: string) => database.prepare(text).all() as Record<string, unknown>[]
      const ledger = ledgerOf(all(rowsText), all(approvalsText), withJournal ? all(pagesText) : [])
      database.close()
      return ledger
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
}

export function postgresLedger(url: string): ReadLedger {
  return async ({ withJournal } = { withJournal: false }) => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const all = async (text: string) => (await client.query(text)).rows
      const pages = withJournal ? await all(pagesText) : []
      return ledgerOf(await all(rowsText), await all(approvalsText), pages)
    } finally {
      await client.end()
    }
  }
}

/** Postgres gives its large integers as text. */
function numbered(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isNumber = (name: string) => name === 'sequence' || name.endsWith('_at')
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      isNumber(name) && value !== null ? Number(value) : value,
    ]),
  )
}

type Rows = readonly Record<string, unknown>[]

function ledgerOf(rows: Rows, approvals: Rows, pages: Rows): Ledger {
  const byId = <T extends { id: string }>(each: Rows) =>
    new Map(each.map((one) => [String(one['id']), numbered(one) as unknown as T]))
  const events = pages.flatMap(
    ({ text }) => (JSON.parse(String(text)) as { events: EventSeen[] }).events,
  )
  return {
    rows: byId<RowSeen>(rows),
    approvals: byId<ApprovalSeen>(approvals),
    events: events.filter(({ execution }) => execution !== undefined),
  }
}
