import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { AuthorityRefs, Store } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { exampleGrant, exampleSession, start } from '../contract/examples.ts'
import { openSqliteStore } from './open-sqlite-store.ts'

let folder: string
let file: string
let store: Store
const grant = exampleGrant()
const session = exampleSession({ state: 'open' })
const refs: AuthorityRefs = {
  connections: [],
  credentials: [],
  catalogs: [],
  profiles: [],
  grants: [grant.id],
  sessions: [session.id],
}
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-remembered-'))
  file = join(folder, 'x.db')
  store = await openSqliteStore({ file, now: Date.now, onFatal: () => {} })
  await store.transact(async (tx) => {
    await tx.grants.insert(grant)
    await tx.sessions.insert(session)
  })
  await look()
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const look = () => store.transact((tx) => tx.lockAuthority(refs))
const revokedAt = async () => (await look()).grants.get(grant.id)?.revokedAt

test('a revocation is seen by the very next barrier, and what else was read stays', async () => {
  const before = await look()
  await store.transact((tx) => tx.grants.revoke(grant.id, start + 1))
  const after = await look()
  expect(after.grants.get(grant.id)?.revokedAt).toBe(start + 1)
  expect(after.sessions.get(session.id)).toBe(before.sessions.get(session.id))
})

test('what a transaction wrote and took back was never true for another one', async () => {
  const undone = store.transact(async (tx) => {
    await tx.grants.revoke(grant.id, start + 1)
    expect((await tx.lockAuthority(refs)).grants.get(grant.id)?.revokedAt).toBe(start + 1)
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  expect(await revokedAt()).toBeNull()
})

test('a row that was not there is found once it is', async () => {
  const late = exampleGrant({ tool: 'late' })
  const both = { ...refs, grants: [grant.id, late.id] }
  const ids = async () => [...(await store.transact((tx) => tx.lockAuthority(both))).grants.keys()]
  expect(await ids()).toEqual([grant.id])
  await store.transact((tx) => tx.grants.insert(late))
  expect((await ids()).toSorted()).toEqual([grant.id, late.id].toSorted())
})

test('a pause, its change and its end are seen at once', async () => {
  const pause = async () => (await look()).pause?.value
  const set = (writesOnly: boolean) =>
    store.transact((tx) =>
      tx.settings.set({ name: 'pause', value: { writesOnly }, by: 'usr', at: start }),
    )
  expect(await pause()).toBeUndefined()
  await set(true)
  expect(await pause()).toEqual({ writesOnly: true })
  await set(false)
  expect(await pause()).toEqual({ writesOnly: false })
  await store.transact((tx) => tx.settings.unset('pause'))
  expect(await pause()).toBeUndefined()
})

test('what another program writes into the file is seen', async () => {
  const other = new DatabaseSync(file)
  other.prepare('UPDATE grants SET revoked_at = ? WHERE id = ?').run(start + 5, grant.id)
  other.close()
  expect(await revokedAt()).toBe(start + 5)
})

test('more rows than are remembered are all read', async () => {
  const many = Array.from({ length: 1_200 }, (_, at) => exampleGrant({ tool: `tool-${at}` }))
  await store.transact(async (tx) => {
    for (const one of many) await tx.grants.insert(one)
  })
  const asked = { ...refs, grants: many.map(({ id }) => id) }
  for (let time = 0; time < 2; time++) {
    const { grants } = await store.transact((tx) => tx.lockAuthority(asked))
    expect(grants.size).toBe(many.length)
  }
  expect(await revokedAt()).toBeNull()
})
