/** Changes of authority against barriers and against each other, on two stores of one schema, with real waits. */
import type { Authority, AuthorityRefs, Store, Tx } from '@sallyport/core'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import {
  exampleCatalog,
  exampleConnection,
  exampleCredential,
  exampleExecution,
  exampleGrant,
  exampleProfile,
  exampleSession,
  newId,
  start,
} from '../contract/examples.ts'
import { openPostgresStore } from './open-postgres-store.ts'

let postgres: RunningPostgres
let watcher: pg.Client
let stores: [Store, Store]

beforeAll(async () => {
  postgres = await startPostgres()
  watcher = new pg.Client({ connectionString: postgres.url })
  await watcher.connect()
  const open = () => openPostgresStore({ url: postgres.url, schema: 'races' })
  stores = [await open(), await open()]
})
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()))
  await watcher.end()
  await postgres.stop()
})

type World = Awaited<ReturnType<typeof newWorld>>

/** Everything one call needs, and the next catalog of its connection. */
async function newWorld() {
  const credential = exampleCredential()
  const catalog = exampleCatalog({ state: 'published', number: 1, version: 1 })
  const connection = exampleConnection({
    id: catalog.connectionId,
    scope: `project:${catalog.id}` as never,
    credentialId: credential.id,
    publishedId: catalog.id,
  })
  const draft = exampleCatalog({ connectionId: connection.id, state: 'in_review' })
  const profile = exampleProfile()
  const grant = exampleGrant({ profileId: profile.id, connectionId: connection.id })
  const session = exampleSession({ profileId: profile.id })
  await stores[0].transact(async (tx) => {
    await tx.connections.insert(connection, 25)
    await tx.credentials.insert(credential)
    await tx.catalogs.insert(catalog, [])
    await tx.catalogs.insert(draft, [])
    await tx.profiles.insert(profile)
    await tx.grants.insert(grant)
    await tx.sessions.insert(session)
  })
  const refs: AuthorityRefs = {
    connections: [connection.id],
    credentials: [credential.id],
    catalogs: [catalog.id],
    profiles: [profile.id],
    grants: [grant.id],
    sessions: [session.id],
  }
  return { connection, credential, catalog, draft, profile, grant, session, refs }
}

/** Runs with its locks taken and its rows written, just before the commit. */
type Pause = () => Promise<void>
type Act = (world: World, tx: Tx, pause: Pause) => Promise<string>

function mayPass({ connection, credential, grant, session, refs }: World, seen: Authority) {
  if (Object.values(refs).some(([id]) => seen.busy.has(id))) return false
  return (
    seen.connections.get(connection.id)?.state === 'enabled' &&
    seen.connections.get(connection.id)?.credentialId === credential.id &&
    seen.credentials.get(credential.id)?.state === 'active' &&
    seen.grants.get(grant.id)?.revokedAt === null &&
    seen.sessions.get(session.id)?.state === 'open'
  )
}

async function barrier(world: World, tx: Tx, pause: Pause): Promise<string> {
  const passes = mayPass(world, await tx.lockAuthority(world.refs))
  if (passes) await tx.executions.insert([exampleExecution({ sessionId: world.session.id })])
  await tx.sessions.touch(world.session.id, start + 60_000)
  await pause()
  return passes ? 'passed' : 'refused'
}

/** Under the lock: `state` of the connection, unless it is gone. */
async function changeConnection(world: World, tx: Tx, state: 'disabled' | 'deleted') {
  await tx.lockForChange({ connections: [world.connection.id] })
  const now = await tx.connections.get(world.connection.id)
  if (now && now.state !== 'deleted')
    await tx.connections.update({ ...now, state, version: now.version + 1 }, now.version)
}

async function revokeCredential(world: World, tx: Tx) {
  await tx.lockForChange({ credentials: [world.credential.id] })
  const now = await tx.credentials.get(world.credential.id)
  if (now) await tx.credentials.update({ ...now, state: 'revoked' }, now.version)
}

const changes: Record<string, Act> = {
  async 'grant revoked'({ grant }, tx, pause) {
    await tx.lockForChange({ grants: [grant.id] })
    await tx.grants.revoke(grant.id, start)
    await pause()
    return 'done'
  },
  async 'connection disabled'(world, tx, pause) {
    await changeConnection(world, tx, 'disabled')
    await pause()
    return 'done'
  },
  async 'credential revoked'(world, tx, pause) {
    await tx.lockForChange({ connections: [world.connection.id] })
    await revokeCredential(world, tx)
    await pause()
    return 'done'
  },
  async publication({ connection, catalog, draft }, tx, pause) {
    await tx.lockForChange({ connections: [connection.id], catalogs: [catalog.id] })
    const old = await tx.catalogs.get(catalog.id)
    const next = await tx.catalogs.get(draft.id)
    const now = await tx.connections.get(connection.id)
    if (!old || !next || !now || next.state !== 'in_review') return 'done'
    await tx.catalogs.update({ ...old, state: 'superseded', version: 9 }, old.version)
    await tx.catalogs.update({ ...next, state: 'published', number: 2, version: 9 }, next.version)
    const after = { ...now, publishedId: next.id, version: now.version + 1 }
    await tx.connections.update(after, now.version)
    await pause()
    return 'done'
  },
  async 'grant changed'({ connection, catalog, profile, grant }, tx, pause) {
    await tx.lockForChange({
      connections: [connection.id],
      catalogs: [catalog.id],
      profiles: [profile.id],
    })
    const former = await tx.grants.ofProfile(profile.id)
    await tx.lockForChange({ grants: former.map(({ id }) => id) })
    for (const { id } of former) await tx.grants.revoke(id, start)
    await tx.grants.insert({ ...grant, id: newId('grant'), digest: 'sha256:other' })
    await pause()
    return 'done'
  },
  async 'session ended'({ session }, tx, pause) {
    await tx.lockForChange({ sessions: [session.id] })
    await tx.sessions.move(session.id, ['open'], 'closing', { endReason: 'ended_by_user' })
    const open = await tx.executions.unfinishedOf(session.id)
    for (const { id } of open) await tx.executions.note(id, { ending: true })
    await pause()
    return 'done'
  },
  async 'connection deleted'(world, tx, pause) {
    await changeConnection(world, tx, 'deleted')
    await revokeCredential(world, tx)
    await pause()
    return 'done'
  },
}
const acts: Record<string, Act> = { barrier, ...changes }

/** Until the act waits for a lock, or has come to its end. */
async function waitsOrEnds(act: Promise<unknown>): Promise<void> {
  let ended = false
  const end = () => {
    ended = true
  }
  act.then(end, end)
  const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock'`
  for (const until = Date.now() + 20_000; Date.now() < until && !ended; ) {
    const { rows } = await watcher.query(waiting)
    if (rows[0].n > 0) return
  }
}

/** The first holds its locks until the second waits for them or is through; both are then left to end. */
async function inOrder(world: World, first: Act, second: Act) {
  const log: string[] = []
  const firstStands = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const pause = async () => {
    firstStands.resolve()
    await goOn.promise
  }
  const run = (store: Store, name: string, act: Act, pausing: Pause) =>
    store
      .transact((tx) => act(world, tx, pausing))
      .then((result) => {
        log.push(name)
        return result
      })
  const a = run(stores[0], 'first', first, pause)
  await Promise.race([firstStands.promise, a])
  const b = run(stores[1], 'second', second, async () => {})
  await waitsOrEnds(b)
  const secondWaited = !log.includes('second')
  goOn.resolve()
  return { results: await Promise.all([a, b]), secondWaited }
}

const afterwards = (world: World) => stores[1].transact((tx) => barrier(world, tx, async () => {}))

describe('a change that holds its locks', () => {
  test.each(Object.entries(changes))(
    '%s: lets no barrier pass that comes then',
    async (name, change) => {
      const world = await newWorld()
      const { results } = await inOrder(world, change, barrier)
      const refuses = name !== 'publication'
      if (refuses) expect(results).toEqual(['done', 'refused'])
      expect(await afterwards(world)).toBe(refuses ? 'refused' : 'passed')
    },
  )
})

describe('a barrier that holds its locks', () => {
  test.each(Object.entries(changes))('%s: is confirmed only after it', async (name, change) => {
    const world = await newWorld()
    expect(await afterwards(world)).toBe('passed')
    const { results, secondWaited } = await inOrder(world, barrier, change)
    expect(results).toEqual(['passed', 'done'])
    expect(secondWaited).toBe(true)
    expect(await afterwards(world)).toBe(name === 'publication' ? 'passed' : 'refused')
  })
})

describe('every two, in both orders', () => {
  const pairs = Object.keys(acts).flatMap((a) => Object.keys(acts).map((b) => [a, b] as const))
  test.each(pairs)('%s, then %s: both come to an end', async (a, b) => {
    const world = await newWorld()
    const { results } = await inOrder(world, acts[a] as Act, acts[b] as Act)
    for (const result of results) expect(['passed', 'refused', 'done']).toContain(result)
  })
})

test('refuses only the calls whose rows are being changed, and does not wait long', async () => {
  const [held, free] = [await newWorld(), await newWorld()]
  const both = Object.fromEntries(
    Object.entries(held.refs).map(([kind, ids]) => [
      kind,
      [...ids, ...free.refs[kind as keyof AuthorityRefs], newId('grant')],
    ]),
  ) as unknown as AuthorityRefs
  const standing = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const change = stores[0].transact(async (tx) => {
    await tx.lockForChange({ connections: [held.connection.id], sessions: [held.session.id] })
    standing.resolve()
    await goOn.promise
  })
  await standing.promise
  const before = performance.now()
  const { now, busy, ...seen } = await stores[1].transact(async (tx) => {
    const authority = await tx.lockAuthority(both)
    expect(await tx.now()).toBe(authority.now)
    return authority
  })
  expect(performance.now() - before).toBeLessThan(2000)
  expect(busy).toEqual(new Set([held.connection.id, held.session.id]))
  expect([...seen.connections.keys()]).toEqual([free.connection.id])
  expect([...seen.sessions.keys()]).toEqual([free.session.id])
  expect(seen.grants.size).toBe(2)
  expect(now).toBeGreaterThan(0)
  goOn.resolve()
  await change
})

test('refuses every call while the pause is being changed', async () => {
  const world = await newWorld()
  const standing = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const pausing = stores[0].transact(async (tx) => {
    await tx.lockForChange({ pause: true })
    await tx.settings.set({ name: 'pause', value: { writesOnly: false }, by: 'usr', at: start })
    standing.resolve()
    await goOn.promise
  })
  await standing.promise
  const { busy } = await stores[1].transact((tx) => tx.lockAuthority(world.refs))
  expect(busy).toEqual(new Set(Object.values(world.refs).flat()))
  goOn.resolve()
  await pausing
  const { pause } = await stores[1].transact((tx) => tx.lockAuthority(world.refs))
  expect(pause?.value).toEqual({ writesOnly: false })
  await stores[0].transact((tx) => tx.settings.unset('pause'))
})

test('comes through a storm of barriers and changes without a deadlock', async () => {
  const worlds = [await newWorld(), await newWorld(), await newWorld()]
  const names = Object.keys(acts)
  const storm = Array.from({ length: 300 }, (_, i) => {
    const turn = Math.floor(i / 3)
    const world = worlds[turn % worlds.length] as World
    const name = i % 3 === 0 ? (names[turn % names.length] as string) : 'barrier'
    const act = acts[name] as Act
    return stores[i % 2 ? 1 : 0].transact((tx) => act(world, tx, async () => {}))
  })
  const results = await Promise.all(storm)
  expect(results).toHaveLength(300)
  for (const world of worlds) expect(await afterwards(world)).toBe('refused')
})

test('lets two gateways that insert the same writes in opposite orders both come to an end', async () => {
  const keys = Array.from({ length: 20 }, (_, i) => `opposite ${i}`)
  const rows = (order: readonly string[]) =>
    order.map((writeKey) =>
      exampleExecution({ writeKey, access: 'write', mode: 'write_unattended' }),
    )
  const results = await Promise.all([
    stores[0].transact((tx) => tx.executions.insert(rows(keys))),
    stores[1].transact((tx) => tx.executions.insert(rows(keys.toReversed()))),
    stores[0].transact((tx) => tx.executions.insert(rows(keys))),
  ])
  const inserted = results.flat().filter((result) => result === 'inserted')
  expect(inserted).toHaveLength(keys.length)
})
