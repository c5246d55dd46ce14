import type { SqliteConnection } from './sqlite-connection.ts'
import type { WriteAheadLog } from './write-ahead-log.ts'

/** Roughly in pages of the log: a row dirties one, the trees of the journal some more in each commit. */
const dueAfter = 2000
const perCommit = 6
/** SQLite's own limit in pages, inside a commit: only met by a commit far larger than ours. */
const backstop = 20_000

/**
 * Moves the log into the database when it has grown. SQLite would do it inside a commit, and wait there for the disk to
 * take the whole log; we have that flushed beside the event loop first, so that little is left to wait for.
 */
export class Checkpoints {
  readonly #writer: SqliteConnection
  readonly #log: WriteAheadLog
  readonly #betweenTransactions: (work: () => void) => Promise<void>
  #grown = 0
  #isRunning = false

  constructor(
    writer: SqliteConnection,
    log: WriteAheadLog,
    betweenTransactions: (work: () => void) => Promise<void>,
  ) {
    this.#writer = writer
    this.#log = log
    this.#betweenTransactions = betweenTransactions
    writer.rows(`PRAGMA wal_autocheckpoint = ${backstop}`, [])
  }

  noteCommit(rows: number): void {
    this.#grown += rows + perCommit
    if (this.#grown < dueAfter || this.#isRunning) return
    this.#isRunning = true
    this.#grown = 0
    void this.#run()
  }

  async #run(): Promise<void> {
    try {
      await this.#log.flush()
      await this.#betweenTransactions(() => {
        this.#writer.rows('PRAGMA wal_checkpoint(PASSIVE)', [])
      })
    } catch {
      // The log keeps everything until a later one succeeds. A flush that failed has stopped the store already.
    } finally {
      this.#isRunning = false
    }
  }
}
