import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import type { Tx } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exampleExecution, exampleUser, newId, start } from '../contract/examples.ts'
import { type LogFile, openLogFile } from './log-file.ts'
import { openSqliteStore, openSqliteStoreOn } from './open-sqlite-store.ts'

let folder: string
let file: string
let fatal: unknown[]
const options = () => ({ file, now: () => start, onFatal: (error: unknown) => fatal.push(error) })

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-sqlite-'))
  file = join(folder, 'data.db')
  fatal = []
})
afterEach(() => rmSync(folder, { recursive: true }))

/** A disk whose flushes end when the test says so. */
function slowDisk() {
  const flushes: PromiseWithResolvers<void>[] = []
  const log: LogFile = {
    flush() {
      const flush = Promise.withResolvers<void>()
      flushes.push(flush)
      return flush.promise
    },
    close: async () => {},
  }
  return { flushes, open: () => openSqliteStoreOn(options(), async () => log) }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('confirms only what is flushed, unless told not to wait', async () => {
  const { flushes, open } = slowDisk()
  const store = await open()
  await store.transact((tx) => tx.users.insert(exampleUser()), { flush: 'later' })
  expect(flushes).toHaveLength(0)
  let isConfirmed = false
  const waiting = store
    .transact((tx) => tx.users.insert(exampleUser()))
    .then(() => {
      isConfirmed = true
    })
  await turn()
  expect(isConfirmed).toBe(false)
  flushes[0]?.resolve()
  await waiting
  await store.close()
})

test('tells listeners of nothing that is not flushed, unless told not to wait', async () => {
  const { flushes, open } = slowDisk()
  const store = await open()
  const heard: unknown[] = []
  store.listen((ids) => heard.push(ids))
  const [first, second] = [newId('execution'), newId('execution')]
  const announce = (id: typeof first) => async (tx: Tx) => {
    await tx.users.insert(exampleUser())
    await tx.announce([id])
  }
  const waiting = store.transact(announce(first))
  await turn()
  expect(heard).toEqual([])
  await store.transact(announce(second), { flush: 'later' })
  expect(heard).toEqual([[second]])
  flushes[0]?.resolve()
  await waiting
  expect(heard).toEqual([[second], [first]])
  const closed = store.close()
  await turn()
  flushes[1]?.resolve()
  await closed
})

test('goes on with reads and transactions while a flush runs', async () => {
  const { flushes, open } = slowDisk()
  const store = await open()
  const user = exampleUser()
  const first = store.transact((tx) => tx.users.insert(user))
  await turn()
  await store.transact((tx) => tx.users.insert(exampleUser()), { flush: 'later' })
  expect(await store.users.list()).toHaveLength(2)
  flushes[0]?.resolve()
  await first
  const closed = store.close()
  await turn()
  expect(flushes).toHaveLength(2)
  flushes[1]?.resolve()
  await closed
})

test('stops for good when a flush fails, and says so once', async () => {
  const { flushes, open } = slowDisk()
  const store = await open()
  const first = store.transact((tx) => tx.users.insert(exampleUser()))
  const second = store.transact((tx) => tx.users.insert(exampleUser()))
  await turn()
  flushes[0]?.reject(new Error('EIO'))
  const notDurable = { code: 'not_durable' }
  await expect(first).rejects.toMatchObject(notDurable)
  await expect(second).rejects.toMatchObject(notDurable)
  await expect(store.users.list()).rejects.toMatchObject(notDurable)
  await expect(store.ping()).rejects.toMatchObject(notDurable)
  const later = store.transact((tx) => tx.users.list(), { flush: 'later' })
  await expect(later).rejects.toMatchObject(notDurable)
  expect(fatal).toEqual([expect.objectContaining(notDurable)])
  await expect(store.close()).rejects.toMatchObject(notDurable)
})

test('does not open without a log that can be flushed', async () => {
  const notDurable = { code: 'not_durable' }
  const log = join(folder, 'log')
  await expect(openLogFile(log)).rejects.toMatchObject(notDurable)
  writeFileSync(log, '')
  await expect(openLogFile(log)).rejects.toMatchObject(notDurable)
  writeFileSync(log, 'something')
  const opened = await openLogFile(log)
  await opened.flush()
  await opened.close()
  const missing = openSqliteStoreOn(options(), () => openLogFile(join(folder, 'other')))
  await expect(missing).rejects.toMatchObject(notDurable)
})

test('keeps database, log and index readable to their owner only', async () => {
  const store = await openSqliteStore(options())
  for (const name of [file, `${file}-wal`, `${file}-shm`])
    expect(statSync(name).mode & 0o777).toBe(0o600)
  await store.close()
})

test('keeps everything when it is opened again', async () => {
  const user = exampleUser()
  const store = await openSqliteStore(options())
  await store.transact((tx) => tx.users.insert(user))
  await store.close()
  const again = await openSqliteStore(options())
  expect(await again.users.list()).toEqual([user])
  await again.close()
})

test('moves a log that has grown into the database', async () => {
  const store = await openSqliteStore(options())
  const before = statSync(file).size
  for (let i = 0; i < 30; i++) {
    const rows = Array.from({ length: 100 }, () => exampleExecution())
    await store.transact((tx) => tx.executions.insert(rows), { flush: 'later' })
  }
  for (let i = 0; i < 1_000 && statSync(file).size <= before; i++) await delay(10)
  expect(statSync(file).size).toBeGreaterThan(before + 500_000)
  expect(await store.executions.count('dispatching')).toBe(3000)
  await store.close()
})

test('tells damage from absence', async () => {
  const store = await openSqliteStore(options())
  const row = exampleExecution()
  await store.transact((tx) => tx.executions.insert([row]))
  const other = new DatabaseSync(file)
  const unreadable = { code: 'row_unreadable' }
  for (const damage of ["state = 'paused'", "notes = '{'", 'arrived_at = 9007199254740993']) {
    other.exec(`UPDATE executions SET ${damage}`)
    await expect(store.executions.get(row.id)).rejects.toMatchObject(unreadable)
    const settle = store.transact((tx) => tx.executions.byCall(row.sessionId, row.callId))
    await expect(settle).rejects.toMatchObject(unreadable)
    other.exec("UPDATE executions SET state = 'dispatching', notes = '{}', arrived_at = 1")
  }
  other.close()
  expect((await store.executions.get(row.id))?.id).toBe(row.id)
  await store.close()
})

test('refuses a database of a later release, an edited migration, and what is no database', async () => {
  await (await openSqliteStore(options())).close()
  const change = (sql: string) => {
    const other = new DatabaseSync(file)
    other.exec(sql)
    other.close()
  }
  change("INSERT INTO applied_migrations VALUES (99, 'later', 'sha256:x')")
  await expect(openSqliteStore(options())).rejects.toMatchObject({ code: 'schema_too_new' })
  change('DELETE FROM applied_migrations WHERE number = 99')
  await (await openSqliteStore(options())).close()
  change("UPDATE applied_migrations SET checksum = 'sha256:x'")
  await expect(openSqliteStore(options())).rejects.toMatchObject({ code: 'migration_changed' })
  writeFileSync(file, 'this is not what SQLite wrote '.repeat(99))
  await expect(openSqliteStore(options())).rejects.toMatchObject({ code: 'store_unavailable' })
})

test('gives up on a database that another program keeps locked', async () => {
  const store = await openSqliteStore(options())
  const other = new DatabaseSync(file)
  other.exec('BEGIN IMMEDIATE')
  const blocked = store.transact((tx) => tx.users.insert(exampleUser()))
  await expect(blocked).rejects.toMatchObject({ code: 'store_unavailable' })
  expect(await store.users.list()).toEqual([])
  other.exec('ROLLBACK')
  other.close()
  expect(await store.transact((tx) => tx.users.insert(exampleUser()))).toBe(true)
  await store.close()
})
