import { closeSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import type { OnFatal, Store } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { Lifetime } from '../lifetime.ts'
import { sqliteMigrations } from '../migrations/migrations.ts'
import { flushFolder, type LogFile, openLogFile } from './log-file.ts'
import { migrateSqlite } from './migrate-sqlite.ts'
import { SqliteConnection } from './sqlite-connection.ts'
import { sqliteStore } from './sqlite-store.ts'
import { WriteAheadLog } from './write-ahead-log.ts'

export interface SqliteOptions {
  /** Path of the database; its log lies beside it. The caller holds the lock of the folder. */
  readonly file: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  readonly onFatal: OnFatal
}

/**
 * Opens the embedded store and brings its schema up to date. Throws `not_durable` when the machine does not give what
 * durability needs, `schema_too_new`, `migration_changed`, `store_unavailable`.
 */
export function openSqliteStore(options: SqliteOptions): Promise<Store> {
  return openSqliteStoreOn(options, openLogFile)
}

export async function openSqliteStoreOn(
  { file, now, onFatal }: SqliteOptions,
  openLog: (path: string) => Promise<LogFile>,
): Promise<Store> {
  const opened: { close(): void | Promise<void> }[] = []
  const keep = <T extends { close(): void | Promise<void> }>(part: T): T => {
    opened.push(part)
    return part
  }
  /** The log file first: Windows removes no file that is open. */
  const release = async () => {
    for (const part of opened.reverse()) await part.close()
  }
  try {
    createPrivately(file)
    const writer = keep(new SqliteConnection(file, false))
    prepareWriter(writer)
    const reader = keep(new SqliteConnection(file, true))
    const logFile = keep(await openLog(`${file}-wal`))
    await flushFolder(dirname(file))
    const lifetime = new Lifetime()
    const log = new WriteAheadLog(logFile.flush, (error) => {
      lifetime.fail(error)
      onFatal(error)
    })
    return sqliteStore({ writer, reader, log, lifetime, now, release })
  } catch (error) {
    await release()
    throw error
  }
}

/** Log and index take over the mode of the database. */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (cause) {
    // It must not even be opened when it is there: closing it would drop the locks SQLite has on it in this process.
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST')
      throw new SallyportError('store_unavailable', { cause })
  }
}

function prepareWriter(writer: SqliteConnection): void {
  const [journal] = writer.rows('PRAGMA journal_mode = WAL', [])
  if (journal?.[0] !== 'wal')
    throw new SallyportError('not_durable', { cause: new Error('no WAL') })
  // NORMAL flushes the log before a checkpoint and the database after it (on macOS, where fsync alone does not reach the
  // disk, when asked to); commits we flush ourselves.
  writer.exec('PRAGMA synchronous = NORMAL; PRAGMA checkpoint_fullfsync = ON')
  writer.exec('PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY')
  migrateSqlite(writer, sqliteMigrations)
  // A commit of its own, so that there is a log to prove the flush on also when nothing was migrated.
  writer.exec('PRAGMA user_version = 1')
}
