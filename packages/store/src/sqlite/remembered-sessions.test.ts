import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Store } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exampleSession } from '../contract/examples.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

let folder: string
let store: Store
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-remembered-'))
  store = await openSqliteStore({ file: join(folder, 'x.db'), now: Date.now, onFatal: () => {} })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const session = exampleSession({ state: 'open' })
const read = () => store.sessions.byTokenHash(session.tokenHash)

test('a session is found by its token as soon as it is committed, and never before', async () => {
  expect(await read()).toBeUndefined()
  await store.transact(async (tx) => {
    await tx.sessions.insert(session)
    expect(await read()).toBeUndefined()
  })
  expect(await read()).toEqual(session)
})

test('an end, a touch and a rollback each show at once what is committed', async () => {
  await store.transact((tx) => tx.sessions.insert(session))
  expect(await read()).toMatchObject({ state: 'open' })
  const undone = store.transact(async (tx) => {
    await tx.sessions.move(session.id, ['open'], 'closing', {})
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await read()).toMatchObject({ state: 'open' })
  await store.transact((tx) => tx.sessions.touch(session.id, session.lastCallAt + 1))
  expect(await read()).toMatchObject({ lastCallAt: session.lastCallAt + 1 })
  await store.transact((tx) => tx.sessions.move(session.id, ['open'], 'closing', {}))
  expect(await read()).toMatchObject({ state: 'closing' })
})

test('asking within the transaction sees what it wrote', async () => {
  await store.transact((tx) => tx.sessions.insert(session))
  await read()
  await store.transact(async (tx) => {
    await tx.sessions.move(session.id, ['open'], 'closing', {})
    expect(await tx.sessions.byTokenHash(session.tokenHash)).toMatchObject({ state: 'closing' })
  })
})
