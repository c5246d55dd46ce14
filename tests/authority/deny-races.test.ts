import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore, openPostgresStore, openSqliteStore } from '@sallyport/store'
import { afterAll, beforeAll, describe } from 'vitest'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { denyRaces } from './deny-races.ts'

describe('memory', () => denyRaces(async () => openMemoryStore({ now: Date.now })))

describe('sqlite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-deny-races-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  denyRaces(() => openSqliteStore({ file: join(folder, 'db'), now: Date.now, onFatal }))
})

describe('postgres', () => {
  let postgres: RunningPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  denyRaces(() => openPostgresStore({ url: postgres.url }))
})

function onFatal(error: unknown): void {
  throw error
}
