import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { start } from '../contract/examples.ts'
import { lookUps } from '../sql/sql-execution-reads.ts'
import { openSqliteStore } from './open-sqlite-store.ts'
import { SqliteConnection } from './sqlite-connection.ts'

test('looks writes up by the index that holds no more than what is asked for', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-plans-'))
  const file = join(folder, 'data.db')
  const store = await openSqliteStore({ file, now: () => start, onFatal: () => {} })
  const connection = new SqliteConnection(file, true)
  const indexOf = (sql: string) => {
    const params = Array.from({ length: new Set(sql.match(/\$\d+/g)).size }, () => null)
    const plan = connection.rows(`EXPLAIN QUERY PLAN ${sql}`, params).map((row) => String(row[3]))
    return plan.flatMap((step) => /executions USING INDEX (\w+)/.exec(step)?.[1] ?? [])
  }
  expect(indexOf(lookUps.twins)).toEqual(['executions_twins'])
  expect(indexOf(lookUps.identical)).toEqual(['executions_identical'])
  expect(indexOf(lookUps.unknownOf)).toEqual(['executions_unknown'])
  expect(indexOf(lookUps.waiting)).toEqual(['executions_state'])
  connection.close()
  await store.close()
  rmSync(folder, { recursive: true })
})
