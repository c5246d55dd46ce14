/** What two gateways hear of each other, also when connections are lost. */
import type { Store } from '@sallyport/core'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import type { Heard } from '../announcements.ts'
import { newId } from '../contract/examples.ts'
import { openPostgresStore } from './open-postgres-store.ts'

let postgres: RunningPostgres
let janitor: pg.Client
let opened: Store[] = []

beforeAll(async () => {
  postgres = await startPostgres()
  janitor = new pg.Client({ connectionString: postgres.url })
  await janitor.connect()
})
afterEach(async () => {
  await Promise.all(opened.map((store) => store.close()))
  opened = []
})
afterAll(async () => {
  await janitor.end()
  await postgres.stop()
})

async function open(schema: string, url = postgres.url): Promise<Store> {
  const store = await openPostgresStore({ url, schema, connections: 2 })
  opened.push(store)
  return store
}

const announce = (store: Store, ids = [newId('execution')]) =>
  store.transact(async (tx) => {
    await tx.announce(ids)
    return ids
  })

/** Resolves when it listens: it is told then that something may have been missed before. */
async function listening(store: Store): Promise<Heard[]> {
  const heard: Heard[] = []
  store.listen((ids) => heard.push(ids))
  await vi.waitFor(() => expect(heard).toEqual(['all']))
  heard.length = 0
  return heard
}

const listeners = async () => {
  const sql = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN %'"
  return (await janitor.query<{ pid: number }>(sql)).rows.map(({ pid }) => pid)
}

test('two gateways hear each other at once', async () => {
  const [one, other] = [await open('pair'), await open('pair')]
  const [here, there] = [await listening(one), await listening(other)]
  const begun = performance.now()
  const first = await announce(one)
  await vi.waitFor(() => expect([here, there]).toEqual([[first], [first]]), { interval: 5 })
  const second = await announce(other)
  await vi.waitFor(() => expect(here).toEqual([first, second]), { interval: 5 })
  expect(performance.now() - begun).toBeLessThan(1000)
})

test('nobody hears what was rolled back, or what another schema announced', async () => {
  const [one, other] = [await open('mine'), await open('theirs')]
  const heard = await listening(one)
  const undone = one.transact(async (tx) => {
    await tx.announce([newId('execution')])
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  await announce(other)
  const last = await announce(one)
  await vi.waitFor(() => expect(heard).toEqual([last]))
})

test('listens on one connection however many listen, from the first of them to the close', async () => {
  const store = await open('lazy')
  expect(await listeners()).toEqual([])
  await listening(store)
  const second: Heard[] = []
  store.listen((ids) => second.push(ids))
  const ids = await announce(store)
  await vi.waitFor(() => expect(second).toEqual([ids]))
  expect(await listeners()).toHaveLength(1)
  await store.close()
  await vi.waitFor(async () => expect(await listeners()).toEqual([]))
})

test('is told of everything when its connection was lost, and hears again', async () => {
  const [one, other] = [await open('lost'), await open('lost')]
  const heard = await listening(one)
  for (let i = 0; i < 3; i++) {
    const [pid] = await listeners()
    await janitor.query('SELECT pg_terminate_backend($1, 5000)', [pid])
    await vi.waitFor(() => expect(heard).toEqual(['all']), { timeout: 5000 })
    const ids = await announce(other)
    await vi.waitFor(() => expect(heard).toEqual(['all', ids]))
    heard.length = 0
  }
})

test('keeps trying while the server lets nobody in, and closes meanwhile', async () => {
  await janitor.query('CREATE DATABASE away')
  const url = new URL(postgres.url)
  url.pathname = '/away'
  const [one, other] = [await open('away', url.href), await open('away', url.href)]
  const [heard, never] = [await listening(one), await listening(other)]
  await janitor.query('ALTER DATABASE away ALLOW_CONNECTIONS false')
  const cut = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = 'away'"
  await janitor.query(cut)
  await expect(one.ping()).rejects.toMatchObject({ code: 'store_unavailable' })
  await other.close()
  expect(heard).toEqual([])
  await janitor.query('ALTER DATABASE away ALLOW_CONNECTIONS true')
  await vi.waitFor(() => expect(heard).toEqual(['all']), { timeout: 10_000 })
  expect(never).toEqual([])
})
