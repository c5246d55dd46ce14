/** Two gateways, each with a worker and a data folder of its own, on one Postgres with one vault key and one data key. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { idSource } from '@sallyport/protocol'
import { openPostgresStore } from '@sallyport/store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensureAdministrator } from '../../apps/gateway/src/start/administrator.ts'
import { apiAt } from '../harness/call-api.ts'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { defaultTools, startUpstream } from '../upstreams/scripted-upstream.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { eventually } from './eventually.ts'
import { openStream } from './guest-stream.ts'
import { argumentsDigest, rowOf, rowsOf, untilCollected, untilSettled } from './journal.ts'
import { type CallAnswer, type Era, RawGuest } from './raw-guest.ts'

const startWithinMs = 15_000
const graceMs = 10_000

let postgres: RunningPostgres
let folder: string
let upstream: CountedUpstream
let first: Sallyport
let second: Sallyport

/** Neither shows the URL of the database in its arguments. */
function start(args: readonly string[], env: Record<string, string> = {}): Promise<Sallyport> {
  return startSallyport({
    args: [...args, '--data-key-file', join(folder, 'data.key')],
    env: { SALLYPORT_VAULT_KEY_FILE: join(folder, 'vault.key'), ...env },
  })
}

beforeAll(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sallyport-two-'))
  upstream = await startCountedUpstream()
  const file = join(folder, 'database')
  writeFileSync(file, `${postgres.url}\n`, { mode: 0o600 })
  ;[first, second] = await Promise.all([
    start(['--database-file', file]),
    start([], { SALLYPORT_DATABASE: postgres.url }),
  ])
})
afterAll(async () => {
  await Promise.all([first?.remove(), second?.remove()])
  await upstream?.close()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Shared {
  readonly name: string
  readonly session: OpenSession
  guest(at: Sallyport, era?: Era): RawGuest
}

/** A connection of that name, added through the first, and a session with both of its tools. */
async function share(name: string, callMs = 60_000): Promise<Shared> {
  const session = await connectAndGrant(first, {
    name,
    url: upstream.url,
    limits: { callMs },
    profile: name,
    read: ['look'],
    write: ['store'],
    unattended: true,
  })
  return { name, session, guest: guestsOf(name, session.token) }
}

function guestsOf(name: string, token: string): Shared['guest'] {
  return (at, era = 'modern') => {
    return new RawGuest({ endpoint: `${at.guestUrl}/mcp/${name}`, token, era })
  }
}

/** Sends a call that the upstream holds. Resolves, with a promise of the answer beside, when the upstream has it. */
async function begin(guest: RawGuest, tool: string, id: string) {
  const answer: Promise<CallAnswer | 'cut off'> = guest
    .call(tool, JSON.stringify({ hold: true, id }))
    .catch(() => 'cut off')
  await upstream.began(id)
  return { answer }
}

test('start together on an empty database and share key, people and tokens', async () => {
  const [one, other] = await Promise.all([first, second].map(({ api }) => api('status.show')))
  expect([one?.database, other?.database]).toEqual(['postgres', 'postgres'])
  expect(one?.instance).not.toBe(other?.instance)
  const keys = await Promise.all([first, second].map(({ api }) => api('vault.show')))
  expect(keys[0]?.kid).toBe(keys[1]?.kid)
  const borrowed = apiAt(
    () => second.url,
    () => first.adminToken,
  )
  expect(await borrowed('whoami.show')).toMatchObject({ name: 'admin', role: 'admin' })
  expect((await first.api('user.list')).items).toHaveLength(1)
})

test('gateways that make the administrator of an empty database at one moment make one', async () => {
  const store = await openPostgresStore({ url: postgres.url, schema: 'at_one_moment' })
  const deps = { ids: idSource(Date.now, (size) => randomBytes(size)), now: Date.now }
  try {
    const files = Array.from({ length: 8 }, (_, at) => join(folder, `token-${at}`))
    await Promise.all(files.map((file) => ensureAdministrator(store, file, deps)))
    const [admin, ...others] = await store.users.list()
    expect(others).toEqual([])
    const tokens = await store.users.tokens()
    expect(tokens.map(({ userId }) => userId)).toEqual(files.map(() => admin?.id))
  } finally {
    await store.close()
  }
})

test('a connection and a session made through one work through the other', async () => {
  const { session, guest } = await share('both')
  for (const at of [first, second]) {
    const id = at === first ? 'through-first' : 'through-second'
    for (const era of ['modern', 'legacy'] as const)
      expect(await guest(at, era).call('store', `{"id":"${id}-${era}"}`)).toMatchObject({
        isError: false,
        text: 'done',
      })
  }
  const opened = await guest(first, 'legacy').ask('initialize', '{"protocolVersion":"2025-11-25"}')
  const mcpSessionId = opened.headers.get('mcp-session-id') as string
  const { token } = session
  const endpoint = `${second.guestUrl}/mcp/both`
  const moved = new RawGuest({ endpoint, token, era: 'legacy', mcpSessionId })
  expect((await moved.ask('tools/list')).result?.['tools']).toHaveLength(2)
  const rows = await untilCollected(first, session.id, 4)
  expect(await rowsOf(second, session.id)).toEqual(rows)
})

test('what one takes away the other refuses at once', async () => {
  const { name, session, guest } = await share('narrowed')
  const { api } = second
  const codeOf = async (tool: string) =>
    (await guest(first).call(tool, `{"id":"${tool}-narrowed"}`)).failure?.code
  expect([await codeOf('look'), await codeOf('store')]).toEqual([undefined, undefined])

  await api('pause.set', {}, { note: 'moving', writes: true })
  expect([await codeOf('look'), await codeOf('store')]).toEqual([undefined, 'paused'])
  await api('pause.clear')
  expect(await codeOf('store')).toBeUndefined()

  await api('profile.revoke', { name }, { connection: name, tools: 'store' })
  expect([await codeOf('look'), await codeOf('store')]).toEqual([undefined, 'grant_changed'])

  await api('connection.disable', { name })
  expect(await codeOf('look')).toBe('connection_disabled')
  await api('connection.enable', { name })
  expect(await codeOf('look')).toBeUndefined()

  await api('catalog.withdraw', { name }, { revision: 1 })
  expect(await codeOf('look')).toBe('catalog_withdrawn')

  await api('session.end', { id: session.id })
  expect((await guest(first).ask('tools/list')).status).toBe(401)

  const { secret, token } = await api('token.create', {}, { user: 'admin' })
  const asked = apiAt(
    () => first.url,
    () => secret,
  )
  expect(await asked('whoami.show')).toMatchObject({ name: 'admin' })
  await api('token.revoke', { id: token.id })
  await expect(asked('whoami.show')).rejects.toMatchObject({ status: 401 })
})

test('a setting changed through one holds on the other within seconds', async () => {
  const { guest } = await share('settings')
  await second.api('setting.set', { name: 'maxCallsPerSession' }, { value: 1 })
  const held = await begin(guest(first), 'look', 'held-alone')
  const status = async () =>
    (await guest(first).ask('tools/call', '{"name":"look","arguments":{"id":"x"}}')).status
  await eventually(status, (seen) => seen === 429, 10_000)
  await second.api('setting.unset', { name: 'maxCallsPerSession' })
  await eventually(status, (seen) => seen === 200, 10_000)
  upstream.release('held-alone')
  await held.answer
})

test('drift that one observes is seen by the other', async () => {
  const drifting = await startUpstream({ tools: defaultTools })
  const name = 'drifting'
  const spec = { name, url: drifting.url, profile: name, read: ['echo', 'report'] }
  try {
    const { id, token } = await connectAndGrant(first, {
      ...spec,
      settings: { verifyWithinSeconds: 0 },
    })
    const guest = guestsOf(name, token)
    const codes = async (at: Sallyport) =>
      [await guest(at).call('echo'), await guest(at).call('report')].map((one) => one.failure?.code)
    expect([await codes(first), await codes(second)]).toEqual([
      [undefined, undefined],
      [undefined, undefined],
    ])
    expect(await first.api('connection.show', { name })).toMatchObject({
      observed: { drift: false },
    })

    drifting.setTools(
      defaultTools.map((tool) => (tool.name === 'echo' ? { ...tool, title: 'Other' } : tool)),
    )
    expect(await codes(second)).toEqual(['tool_changed', undefined])
    const seen = () => first.api('connection.show', { name })
    await eventually(seen, ({ observed }) => observed?.drift === true)
    const names = async () => {
      const tools = (await guest(first).ask('tools/list')).result?.['tools'] as { name: string }[]
      return tools.map((tool) => tool.name)
    }
    expect(await names()).toEqual(['report'])
    const { tools } = await first.api('session.show', { id })
    expect(tools.map(({ tool, state }) => [tool, state])).toEqual([
      ['echo', 'not_callable'],
      ['report', 'callable'],
    ])
    expect(await codes(first)).toEqual(['tool_changed', undefined])

    drifting.setTools(defaultTools)
    expect(await codes(second)).toEqual([undefined, undefined])
    await eventually(names, (listed) => listed.length === 2)
  } finally {
    await drifting.close()
  }
})

test('guests that listen at one hear of what the other changes', async () => {
  const { name, session } = await share('heard')
  const { id, token } = session
  const streams = []
  for (const era of ['modern', 'legacy'] as const)
    streams.push(await openStream({ endpoint: `${second.guestUrl}/mcp/${name}`, token, era }))
  await first.api('connection.disable', { name })
  for (const stream of streams) await stream.told(1, 5_000)
  await first.api('connection.enable', { name })
  for (const stream of streams) await stream.told(2, 5_000)
  await first.api('session.end', { id })
  for (const stream of streams) await stream.ended(5_000)
  expect(streams.map(({ changes }) => changes)).toEqual([2, 2])
})

test('one that stops and starts again does not touch calls of the other', async () => {
  const { session, guest } = await share('restarted')
  const theirs = await begin(guest(second), 'store', 'across-a-restart')
  const own = await begin(guest(first), 'store', 'before-the-stop')
  upstream.release('before-the-stop')
  await first.restart()
  expect(await own.answer).toMatchObject({ text: 'done' })
  const row = () => rowOf(first, session.id, { hold: true, id: 'across-a-restart' })
  expect(await row()).toMatchObject({ state: 'dispatching' })
  upstream.release('across-a-restart')
  expect(await theirs.answer).toMatchObject({ isError: false, text: 'done' })
  await eventually(row, ({ state }) => state === 'succeeded')
})

test('calls of a killed one: settled when it is back, else unknown or lost when their time is over', {
  timeout: 90_000,
}, async () => {
  const long = await share('long')
  const short = await share('short', 1_000)
  const living = await begin(long.guest(second), 'store', 'of-the-living')
  await begin(long.guest(first), 'store', 'answered-meanwhile')
  await begin(short.guest(first), 'store', 'never-answered')
  await begin(short.guest(first), 'look', 'never-read')
  await first.kill()
  upstream.release('answered-meanwhile')

  const rows = await untilSettled(
    second,
    short.session.id,
    startWithinMs + 1_000 + graceMs + 10_000,
  )
  expect(rows.map(({ tool, state }) => [tool, state])).toEqual([
    ['store', 'unknown'],
    ['look', 'lost'],
  ])
  for (const { finishedAt, notAfter } of rows)
    expect(Date.parse(String(finishedAt))).toBeGreaterThanOrEqual(
      Date.parse(String(notAfter)) + graceMs,
    )
  const stateOf = async (id: string) => {
    const digest = argumentsDigest({ hold: true, id })
    const all = await rowsOf(second, long.session.id)
    return all.find((row) => row.argumentsDigest === digest)?.state
  }
  expect(await stateOf('answered-meanwhile')).toBe('dispatching')
  expect(await stateOf('of-the-living')).toBe('dispatching')

  await first.restart()
  await eventually(
    () => stateOf('answered-meanwhile'),
    (state) => state === 'succeeded',
    10_000,
  )
  expect(await stateOf('of-the-living')).toBe('dispatching')
  upstream.release('of-the-living')
  expect(await living.answer).toMatchObject({ isError: false, text: 'done' })
  expect(await long.guest(first).call('store', '{"id":"after-all"}')).toMatchObject({
    text: 'done',
  })
  for (const id of ['of-the-living', 'answered-meanwhile', 'never-answered'])
    expect(upstream.effects(id)).toBe(1)
})
