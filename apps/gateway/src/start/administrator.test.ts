import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { authenticate } from '@sallyport/core'
import { idSource } from '@sallyport/protocol'
import { openMemoryStore } from '@sallyport/store'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { ensureAdministrator } from './administrator.ts'

const now = () => 1_000
const ids = idSource(now, (size) => new Uint8Array(size))
let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-admin-'))
  file = join(folder, 'admin-token')
})
afterEach(() => rmSync(folder, { recursive: true }))

const read = () => readFileSync(file, 'utf8').trim()

test('makes an administrator at first start, whose token only the owner of the file can read', async () => {
  const store = openMemoryStore({ now })
  await ensureAdministrator(store, file, { ids, now })
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const actor = await authenticate(store, read(), now())
  expect(actor).toMatchObject({ actor: { role: 'admin' } })
  expect(JSON.stringify(await store.users.tokens())).not.toContain(read())
})

test('keeps a token that is good', async () => {
  const store = openMemoryStore({ now })
  await ensureAdministrator(store, file, { ids, now })
  const first = read()
  await ensureAdministrator(store, file, { ids, now })
  expect(read()).toBe(first)
  expect(await store.users.tokens()).toHaveLength(1)
})

test.each(['revoked', 'lost', 'foreign'])(
  'replaces a token that is %s, for the same person',
  async (how) => {
    const store = openMemoryStore({ now })
    await ensureAdministrator(store, file, { ids, now })
    const first = read()
    const [token] = await store.users.tokens()
    if (how === 'revoked' && token) await store.transact((tx) => tx.users.revokeToken(token.id, 1))
    if (how === 'lost') rmSync(file)
    if (how === 'foreign') writeFileSync(file, 'of another database\n')
    await ensureAdministrator(store, file, { ids, now })
    expect(read()).not.toBe(first)
    expect(await store.users.list()).toHaveLength(1)
  },
)

test('does not bring a disabled administrator back', async () => {
  const store = openMemoryStore({ now })
  await ensureAdministrator(store, file, { ids, now })
  const [user] = await store.users.list()
  if (user) await store.transact((tx) => tx.users.disable(user.id, 1))
  await expect(ensureAdministrator(store, file, { ids, now })).rejects.toMatchObject({
    code: 'not_allowed',
  })
})
