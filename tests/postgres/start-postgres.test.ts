import { existsSync } from 'node:fs'
import pg from 'pg'
import { expect, test } from 'vitest'
import { startPostgres } from './start-postgres.ts'

test('starts a durable Postgres on a Unix socket and leaves nothing behind', async () => {
  const postgres = await startPostgres()
  const folder = new URL(postgres.url).searchParams.get('host') ?? ''
  const client = new pg.Client({ connectionString: postgres.url })
  await client.connect()
  const { rows } = await client.query(
    "SELECT current_setting('fsync') AS fsync, current_setting('listen_addresses') AS listen",
  )
  await client.end()
  expect(rows).toEqual([{ fsync: 'on', listen: '' }])
  expect(existsSync(folder)).toBe(true)
  await postgres.stop()
  expect(existsSync(folder)).toBe(false)
})
