import { openMemoryStore } from '@sallyport/store'
import { afterAll, beforeAll } from 'vitest'
import { postgresDatabase, sqliteDatabase } from '../journal/databases.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { retirementRaces } from './retirement-races.ts'

let postgres: RunningPostgres
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.stop())

retirementRaces('memory', async () => {
  const store = openMemoryStore({ now: Date.now })
  return { store, rival: store, close: () => store.close() }
})
retirementRaces('SQLite', sqliteDatabase)
retirementRaces('Postgres', () => postgresDatabase(postgres))
