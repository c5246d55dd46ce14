import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore, openPostgresStore, openSqliteStore } from '@sallyport/store'
import { afterAll, beforeAll, describe } from 'vitest'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { decisions } from './decisions.ts'

describe('memory', () => decisions(async () => openMemoryStore({ now: Date.now })))

describe('sqlite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-decisions-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  decisions(() => openSqliteStore({ file: join(folder, 'db'), now: Date.now, onFatal }))
})

describe('postgres', () => {
  let postgres: RunningPostgres
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.stop())
  decisions(() => openPostgresStore({ url: postgres.url }))
})

function onFatal(error: unknown): void {
  throw error
}
