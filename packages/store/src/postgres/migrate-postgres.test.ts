import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import { postgresMigrations } from '../migrations/migrations.ts'
import { expectRowsOf002, rowsBefore003 } from '../migrations/upgrade-contract.ts'
import { migratePostgres } from './migrate-postgres.ts'
import { openPostgresStore } from './open-postgres-store.ts'

test('opens a schema of an earlier release and reads its rows', async () => {
  const postgres = await startPostgres()
  const earlier = new pg.Client({ connectionString: postgres.url })
  await earlier.connect()
  await earlier.query('CREATE SCHEMA earlier; SET search_path = earlier')
  await migratePostgres(
    earlier as unknown as pg.PoolClient,
    'earlier',
    postgresMigrations.slice(0, 2),
  )
  await earlier.query(rowsBefore003)
  await expect(earlier.query('SELECT chain_id FROM executions')).rejects.toThrow('chain_id')
  await earlier.end()
  const upgraded = await openPostgresStore({ url: postgres.url, schema: 'earlier' })
  await expectRowsOf002(upgraded)
  await upgraded.close()
  await postgres.stop()
})
