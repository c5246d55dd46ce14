/** Empty databases of each engine, and a way to change them behind Sallyport's back. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Store } from '@sallyport/core'
import { openPostgresStore, openSqliteStore } from '@sallyport/store'
import pg from 'pg'
import type { RunningPostgres } from '../postgres/start-postgres.ts'

export interface Database {
  readonly store: Store
  /** A second gateway's store over the same rows; of SQLite, which belongs to one process, the same. */
  readonly rival: Store
  /** Runs a statement past the store. Rows as objects. */
  query(sql: string): Promise<readonly Record<string, unknown>[]>
  close(): Promise<void>
}

export async function sqliteDatabase(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-journal-'))
  const file = join(folder, 'data.db')
  const store = await openSqliteStore({
    file,
    now: Date.now,
    onFatal: (error) => {
      throw error
    },
  })
  const query = async (sql: string) => {
    const other = new DatabaseSync(file)
    try {
      return other.prepare(sql).all() as Record<string, unknown>[]
    } finally {
      other.close()
    }
  }
  const close = async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  }
  return { store, rival: store, query, close }
}

let serial = 0

export async function postgresDatabase({ url }: RunningPostgres): Promise<Database> {
  const schema = `journal_${++serial}`
  const open = () => openPostgresStore({ url, schema })
  const store = await open()
  const rival = await open()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`SET search_path = ${schema}`)
  return {
    store,
    rival,
    query: async (sql) => (await client.query(sql)).rows,
    close: async () => {
      await Promise.all([store.close(), rival.close()])
      await client.query(`DROP SCHEMA ${schema} CASCADE`)
      await client.end()
    },
  }
}
