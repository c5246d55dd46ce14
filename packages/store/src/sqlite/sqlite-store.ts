import type { Store, Tx } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import type { Lifetime } from '../lifetime.ts'
import { OneAtATime } from '../one-at-a-time.ts'
import type { Kept, Param, SqlReader } from '../sql/driver.ts'
import { sqlReads, sqlTx } from '../sql/sql-nouns.ts'
import { Checkpoints } from './checkpoints.ts'
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
  let closing: Promise<void> | undefined
  return {
    engine: 'sqlite',
    ...sqlReads(committed),
    sessions,
    transact: (work, options) =>
      lifetime.run(async () => {
        const result = await transactions.run(work)
        if (options?.flush !== 'later') await log.flush()
        return result
      }),
    ping: async () => {
      await committed.rows('SELECT 1', [])
    },
    close: () => {
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

/** One transaction at a time. The next one begins when the last is committed, not when it is flushed. */
class SqliteTransactions {
  readonly #parts: SqliteParts
  readonly #checkpoints: Checkpoints
  readonly #turns = new OneAtATime()
  readonly #sessionsChanged: () => void

  constructor(parts: SqliteParts, sessionsChanged: () => void) {
    this.#parts = parts
    this.#sessionsChanged = sessionsChanged
    this.#checkpoints = new Checkpoints(parts.writer, parts.log, (work) =>
      parts.lifetime.run(() => this.#turns.run(async () => work())),
    )
  }

  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#turns.run(() => this.#transaction(work))
  }

  async #transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const { lifetime, log, now, writer } = this.#parts
    lifetime.checkSound()
    writer.run('BEGIN IMMEDIATE', [])
    const tx = new SqliteTx(writer, now)
    try {
      const result = await work(sqlTx(tx, tx))
      tx.end()
      writer.run('COMMIT', [])
      if (writer.takeWroteSessions()) this.#sessionsChanged()
      if (tx.written > 0) {
        log.noteCommit()
        this.#checkpoints.noteCommit(tx.written)
      }
      return result
    } catch (error) {
      this.#rollBack(tx)
      throw error
    }
  }

  #rollBack(tx: SqliteTx): void {
    tx.abandon()
    try {
      if (this.#parts.writer.isInTransaction) this.#parts.writer.run('ROLLBACK', [])
    } catch (cause) {
      this.#parts.lifetime.fail(new SallyportError('store_unavailable', { cause }))
    }
  }
}
