import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { start } from '../contract/examples.ts'
import { sqliteMigrations } from '../migrations/migrations.ts'
import { expectRowsOf002, rowsBefore003 } from '../migrations/upgrade-contract.ts'
import { migrateSqlite } from './migrate-sqlite.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import { SqliteConnection } from './sqlite-connection.ts'

test('opens a database of an earlier release and reads its rows', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-migrate-'))
  const file = join(folder, 'data.db')
  const earlier = new SqliteConnection(file, false)
  migrateSqlite(earlier, sqliteMigrations.slice(0, 2))
  earlier.exec(rowsBefore003)
  expect(() => earlier.rows('SELECT chain_id FROM executions', [])).toThrow()
  earlier.close()
  const store = await openSqliteStore({ file, now: () => start, onFatal: () => {} })
  await expectRowsOf002(store)
  await store.close()
  rmSync(folder, { recursive: true })
})
