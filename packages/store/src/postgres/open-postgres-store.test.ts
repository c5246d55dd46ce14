import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import { storeContract } from '../contract.ts'
import * as tables from '../rows/tables.ts'
import { openPostgresStore } from './open-postgres-store.ts'

let postgres: RunningPostgres
let janitor: pg.Client

beforeAll(async () => {
  postgres = await startPostgres()
  janitor = new pg.Client({ connectionString: postgres.url })
  await janitor.connect()
})
afterAll(async () => {
  await janitor.end()
  await postgres.stop()
})

storeContract('postgres', async () => {
  const options = { url: postgres.url, schema: 'contract', connections: 5 }
  const store = await openPostgresStore(options)
  const rival = await openPostgresStore(options)
  const close = async () => {
    await Promise.all([store.close(), rival.close()])
    await janitor.query(emptied)
  }
  return { store, rival, close }
})

/** Making the tables takes ten times as long as emptying them. */
const emptied = Object.values(tables)
  .filter(({ name }) => name !== 'settings')
  .map(({ name }) => `DELETE FROM contract.${name};`)
  .concat('UPDATE contract.settings SET value = NULL')
  .join('')
