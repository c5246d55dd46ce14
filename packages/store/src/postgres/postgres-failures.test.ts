import pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import { exampleExecution, exampleGrant, exampleUser, start } from '../contract/examples.ts'
import { openPostgresStore } from './open-postgres-store.ts'

let postgres: RunningPostgres
let janitor: pg.Client
let schema: string
let schemas = 0

beforeAll(async () => {
  postgres = await startPostgres()
  janitor = new pg.Client({ connectionString: postgres.url })
  await janitor.connect()
})
beforeEach(() => {
  schema = `failures_${++schemas}`
})
afterAll(async () => {
  await janitor.end()
  await postgres.stop()
})

const open = () => openPostgresStore({ url: postgres.url, schema, connections: 3 })
const unavailable = { code: 'store_unavailable' }

/** Ends every other connection, as a restart of the server does. */
const cutConnections = () =>
  janitor.query(
    `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  )

test('does not open on a server that does not flush', async () => {
  await janitor.query('CREATE DATABASE careless')
  await janitor.query('ALTER DATABASE careless SET synchronous_commit = off')
  const url = new URL(postgres.url)
  url.pathname = '/careless'
  const careless = openPostgresStore({ url: url.href })
  await expect(careless).rejects.toMatchObject({ code: 'not_durable' })
  await janitor.query('ALTER DATABASE careless SET synchronous_commit = on')
  await (await openPostgresStore({ url: url.href })).close()
})

test('says when there is no server, and refuses names that are no schema', async () => {
  const nowhere = openPostgresStore({ url: 'postgresql://nobody@localhost/x?host=/nowhere' })
  await expect(nowhere).rejects.toMatchObject(unavailable)
  const injected = openPostgresStore({ url: postgres.url, schema: 'a; DROP SCHEMA b' })
  await expect(injected).rejects.toThrow(TypeError)
})

test('lets gateways that start together make the schema once', async () => {
  const stores = await Promise.all([open(), open(), open(), open()])
  const user = exampleUser()
  await stores[0]?.transact((tx) => tx.users.insert(user))
  for (const store of stores) expect(await store.users.list()).toEqual([user])
  await Promise.all(stores.map((store) => store.close()))
})

test('refuses a schema of a later release and an edited migration', async () => {
  await (await open()).close()
  const change = (sql: string) => janitor.query(sql.replaceAll('applied', `${schema}.applied`))
  await change("INSERT INTO applied_migrations VALUES (99, 'later', 'sha256:x')")
  await expect(open()).rejects.toMatchObject({ code: 'schema_too_new' })
  await change('DELETE FROM applied_migrations WHERE number = 99')
  await (await open()).close()
  await change("UPDATE applied_migrations SET checksum = 'sha256:x'")
  await expect(open()).rejects.toMatchObject({ code: 'migration_changed' })
})

test('tells damage from absence', async () => {
  const store = await open()
  const row = exampleExecution()
  await store.transact((tx) => tx.executions.insert([row]))
  const unreadable = { code: 'row_unreadable' }
  for (const damage of ["state = 'paused'", "notes = '{'", 'arrived_at = 9007199254740993']) {
    await janitor.query(`UPDATE ${schema}.executions SET ${damage}`)
    await expect(store.executions.get(row.id)).rejects.toMatchObject(unreadable)
    await janitor.query(
      `UPDATE ${schema}.executions SET state = 'dispatching', notes = '{}', arrived_at = 1`,
    )
  }
  expect((await store.executions.get(row.id))?.id).toBe(row.id)
  await store.close()
})

test('says that the end of a commit is not known when the connection is cut, and goes on with another', async () => {
  const store = await open()
  const user = exampleUser()
  const cut = store.transact(async (tx) => {
    await tx.users.insert(user)
    await cutConnections()
  })
  await expect(cut).rejects.toMatchObject(unavailable)
  expect(await store.users.list()).toEqual([])
  expect(await store.transact((tx) => tx.users.insert(user))).toBe(true)
  await store.close()
})

test('goes on when idle connections are cut', async () => {
  const store = await open()
  await Promise.all([store.users.list(), store.users.list(), store.users.list()])
  await cutConnections()
  // What was idle fails at its next use, if the end has not been noticed yet; never more than each connection once.
  const tries = [0, 1, 2, 3].map(() => store.users.list().catch(() => undefined))
  await Promise.all(tries)
  expect(await store.users.list()).toEqual([])
  await store.close()
})

test('does not commit when the server has rolled back', async () => {
  const store = await open()
  const user = exampleUser()
  const work = store.transact(async (tx) => {
    await tx.users.insert(user)
    await tx.users.insert({ ...exampleUser(), id: user.id }).catch(() => {})
  })
  await expect(work).rejects.toThrow(TypeError)
  expect(await store.users.list()).toEqual([])
  await store.close()
})

test('uses the clock of the database', async () => {
  const store = await open()
  const before = await janitor.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
  const now = await store.transact((tx) => tx.now())
  const after = await janitor.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now')
  expect(now).toBeGreaterThanOrEqual(Math.floor(Number(before.rows[0].now)))
  expect(now).toBeLessThanOrEqual(Number(after.rows[0].now))
  await store.close()
})

test('lets stores of two schemas on one server not hinder each other', async () => {
  const one = await open()
  const other = await openPostgresStore({ url: postgres.url, schema: `${schema}_other` })
  const row = exampleExecution({ writeKey: 'key', access: 'write', mode: 'write_unattended' })
  const results = await one.transact(async (tx) => {
    const here = await tx.executions.insert([row])
    const there = await other.transact((tx) => tx.executions.insert([row]))
    return [here, there]
  })
  expect(results).toEqual([['inserted'], ['inserted']])
  await Promise.all([one.close(), other.close()])
})

test('gives up a change of authority that cannot have its lock', async () => {
  const store = await open()
  const grant = exampleGrant()
  await store.transact((tx) => tx.grants.insert(grant))
  await janitor.query('BEGIN')
  await janitor.query(`SELECT 1 FROM ${schema}.grants WHERE id = $1 FOR UPDATE`, [grant.id])
  const change = store.transact(async (tx) => {
    await tx.lockForChange({ grants: [grant.id] })
    return tx.grants.revoke(grant.id, start)
  })
  await expect(change).rejects.toMatchObject({ code: 'authority_busy' })
  await janitor.query('ROLLBACK')
  expect((await store.grants.get(grant.id))?.revokedAt).toBeNull()
  await store.close()
})
