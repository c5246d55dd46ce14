import type { Store, Tx } from '@sallyport/core'
import { type ExecutionId, SallyportError } from '@sallyport/protocol'
import { Announcements } from '../announcements.ts'
import type { Lifetime } from '../lifetime.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import type { Kept, Param, SqlReader } from '../sql/driver.ts'
import { sqlReads, sqlTx } from '../sql/sql-nouns.ts'
import { Checkpoints } from './checkpoints.ts'
import { RememberedAuthority } from './remembered-authority.ts'
import { RememberedSessions } from './remembered-sessions.ts'
import type { SqliteConnection } from './sqlite-connection.ts'
import { SqliteTx } from './sqlite-tx.ts'
import type { WriteAheadLog } from './write-ahead-log.ts'

export interface SqliteParts {
  readonly writer: SqliteConnection
  /** Sees what is committed, also while a transaction is open. */
  readonly reader: SqliteConnection
  readonly log: WriteAheadLog
  readonly lifetime: Lifetime
  readonly now: () => number
  /** Closes what the parts stand on. */
  release(): Promise<void>
}

export function sqliteStore(parts: SqliteParts): Store {
  const { lifetime, log, reader } = parts
  const committed = new CommittedRows(reader, lifetime)
  const sessions = new RememberedSessions(committed)
  const transactions = new SqliteTransactions(parts, () => sessions.forget())
  const announcements = new Announcements()
  let closing: Promise<void> | undefined
  return {
    engine: 'sqlite',
    ...sqlReads(committed),
    sessions,
    transact: (work, options) =>
      lifetime.run(async () => {
        const { result, announced } = await transactions.run(work)
        if (options?.flush !== 'later') await log.flush()
        announcements.tell(announced)
        return result
      }),
    listen: (heard) => {
      lifetime.check()
      return announcements.listen(heard)
    },
    ping: async () => {
      await committed.rows('SELECT 1', [])
    },
    close: () => {
      announcements.end()
      closing ??= lifetime.close().then(() => close(parts))
      return closing
    },
  }
}

async function close({ log, release }: SqliteParts): Promise<void> {
  try {
    await log.flush()
  } finally {
    await release()
  }
}

class CommittedRows implements SqlReader {
  readonly #connection: SqliteConnection
  readonly #lifetime: Lifetime

  constructor(connection: SqliteConnection, lifetime: Lifetime) {
    this.#connection = connection
    this.#lifetime = lifetime
  }

  async rows(sql: string, params: readonly Param[]): Promise<readonly Kept[]> {
    this.#lifetime.check()
    return this.#connection.rows(sql, params)
  }
}

interface Committed<T> {
  readonly result: T
  readonly announced: readonly ExecutionId[]
}

/** One transaction at a time. The next one begins when the last is committed, not when it is flushed. */
class SqliteTransactions {
  readonly #parts: SqliteParts
  readonly #checkpoints: Checkpoints
  readonly #authority: RememberedAuthority
  readonly #turns = new OneAtATime()
  readonly #sessionsChanged: () => void

  constructor(parts: SqliteParts, sessionsChanged: () => void) {
    this.#parts = parts
    this.#sessionsChanged = sessionsChanged
    this.#authority = new RememberedAuthority(parts.writer)
    this.#checkpoints = new Checkpoints(parts.writer, parts.log, (work) =>
      parts.lifetime.run(() => this.#turns.run(async () => work())),
    )
  }

  run<T>(work: (tx: Tx) => Promise<T>): Promise<Committed<T>> {
    return this.#turns.run(() => this.#transaction(work))
  }

  async #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<Committed<T>> {
    const { lifetime, log, now, writer } = this.#parts
    lifetime.checkSound()
    writer.run('BEGIN IMMEDIATE', [])
    const tx = new SqliteTx(writer, this.#authority, now)
    try {
      const result = await work(sqlTx(tx, tx))
      tx.end()
      writer.run('COMMIT', [])
      this.#forget()
      if (tx.written > 0) {
        log.noteCommit()
        this.#checkpoints.noteCommit(tx.written)
      }
      return { result, announced: tx.announced }
    } catch (error) {
      this.#rollBack(tx)
      throw error
    }
  }

  /** What was written stands, or was undone: either way it is read anew. */
  #forget(): void {
    const tables = this.#parts.writer.takeWrote()
    if (tables.size === 0) return
    this.#authority.forget(tables)
    if (tables.has('sessions')) this.#sessionsChanged()
  }

  #rollBack(tx: SqliteTx): void {
    tx.abandon()
    this.#forget()
    try {
      if (this.#parts.writer.isInTransaction) this.#parts.writer.run('ROLLBACK', [])
    } catch (cause) {
      this.#parts.lifetime.fail(new SallyportError('store_unavailable', { cause }))
    }
  }
}
