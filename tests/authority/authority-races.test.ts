import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore, openPostgresStore, openSqliteStore } from '@sallyport/store'
import { afterAll, beforeAll, describe } from 'vitest'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { authorityRaces } from './authority-races.ts'

describe('memory', () => authorityRaces(async () => openMemoryStore({ now: Date.now })))

describe('sqlite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-races-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  authorityRaces(() => openSqliteStore({ file: join(folder, 'db'), now: Date.now, onFatal }))
})

describe('postgres', () => {
  let postgres: RunningPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  authorityRaces(() => openPostgresStore({ url: postgres.url }))
})

function onFatal(error: unknown): void {
  throw error
}
