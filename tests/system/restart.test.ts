/** What a stop, a start and a start that fails leave behind. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { apiAt } from '../harness/call-api.ts'
import { isAlive, processesWith } from '../harness/processes.ts'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { type Ended, runCommand } from './commands.ts'
import { RawGuest } from './raw-guest.ts'

let upstream: Upstream
let home: string
const running: Sallyport[] = []
beforeAll(async () => {
  upstream = await startUpstream()
})
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-restart-'))
})
afterEach(async () => {
  upstream.behave()
  upstream.answerHeld()
  for (const sallyport of running.splice(0)) await sallyport.remove()
  rmSync(home, { recursive: true, force: true })
})
afterAll(() => upstream.close())

async function start(): Promise<Sallyport> {
  const sallyport = await startSallyport()
  running.push(sallyport)
  return sallyport
}

function connect(sallyport: Sallyport): Promise<OpenSession> {
  const spec = { name: 'lab', url: upstream.url, profile: 'p', unattended: true }
  const read = ['counter_read', 'slow']
  return connectAndGrant(sallyport, { ...spec, read, write: ['counter_add'] })
}

const guestOf = ({ endpoint, token }: OpenSession, mcpSessionId?: string) =>
  new RawGuest({
    endpoint: `${endpoint}/lab`,
    token,
    era: 'legacy',
    ...(mcpSessionId === undefined ? {} : { mcpSessionId }),
  })

const portOf = (url: string) => new URL(url).port

/** On the addresses it had, so that guests find it again. */
function restart(sallyport: Sallyport, ...more: string[]): Promise<void> {
  const { url, guestUrl } = sallyport
  const args = ['--port', portOf(url), '--guest-port', portOf(guestUrl), ...more]
  return sallyport.restart({ args })
}

const statusOf = async (guest: RawGuest) => (await guest.ask('tools/list')).status

test('settings, people, sessions, their tokens and Mcp-Session-Ids survive a restart', async () => {
  const sallyport = await start()
  const { api } = sallyport
  const session = await connect(sallyport)
  const over = await api('session.create', {}, { profile: 'p' })
  await api('session.end', { id: over.id })
  await api('setting.set', { name: 'maxCallsPerSession' }, { value: 7 })
  await api('user.create', {}, { name: 'eve', role: 'member' })
  const { secret } = await api('token.create', {}, { user: 'eve' })
  const greeting = await guestOf(session).ask('initialize', '{"protocolVersion":"2025-11-25"}')
  const id = greeting.headers.get('mcp-session-id') as string
  const before = await guestOf(session, id).call('counter_read')
  const { pid, adminToken } = sallyport

  await restart(sallyport)
  expect(isAlive(pid)).toBe(false)
  expect(sallyport.adminToken).toBe(adminToken)
  const settings = (await api('setting.list')).items
  expect(settings.find((one) => one.id === 'maxCallsPerSession')).toMatchObject({
    state: 'set',
    value: 7,
  })
  const asEve = apiAt(
    () => sallyport.url,
    () => secret,
  )
  expect(await asEve('whoami.show')).toMatchObject({ name: 'eve', role: 'member' })
  expect(await guestOf(session, id).call('counter_read')).toEqual(before)
  expect(
    await statusOf(
      guestOf(
        session,
        id.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')),
      ),
    ),
  ).toBe(404)
  expect(await statusOf(guestOf(over))).toBe(401)
  const states = (await api('session.list')).items.map(({ id, state }) => ({ id, state }))
  expect(states).toEqual(
    expect.arrayContaining([
      { id: session.id, state: 'open' },
      { id: over.id, state: 'ended' },
    ]),
  )
})

test('a pause survives a restart, and so does its end', async () => {
  const sallyport = await start()
  const { api } = sallyport
  const session = await connect(sallyport)
  const write = () => guestOf(session).call('counter_add', '{"by":1}')
  await api('pause.set', {}, { writes: true, note: 'for the night' })
  await restart(sallyport)
  expect((await api('status.show')).paused).toMatchObject({
    writesOnly: true,
    note: 'for the night',
    by: 'admin',
  })
  const effects = upstream.effects
  expect(await write()).toMatchObject({ isError: true, failure: { code: 'paused' } })
  expect(await guestOf(session).call('counter_read')).toMatchObject({ isError: false })
  expect(upstream.effects).toBe(effects)
  await api('pause.clear')
  await restart(sallyport)
  expect((await api('status.show')).paused).toBeNull()
  expect(await write()).toMatchObject({ isError: false })
  expect(upstream.effects).toBe(effects + 1)
})

test('a second up on the same data folder is refused, and the first goes on', async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  const file = join(sallyport.dataDir, 'endpoint.json')
  const advertised = readFileSync(file, 'utf8')
  const second = await up(sallyport.dataDir)
  expect(second).toMatchObject({ code: 1, stdout: '' })
  expect(lastLine(second)).toMatch(/^data_in_use: Another Sallyport .* — who can act: operator\.$/)
  expect(readFileSync(file, 'utf8')).toBe(advertised)
  expect(await guestOf(session).call('counter_read')).toMatchObject({ isError: false })
  expect((await sallyport.api('status.show')).worker).toMatchObject({ state: 'up' })
})

const ports = ['--port', '0', '--guest-port', '0']
const up = (dataDir: string, ...more: string[]): Promise<Ended> =>
  runCommand(['up', '--json', ...ports, ...more], { dataDir, home })

const lastLine = ({ stderr }: Ended) => stderr.trimEnd().split('\n').at(-1)

async function expectNothingLeft(dataDir: string): Promise<void> {
  expect(existsSync(join(dataDir, 'endpoint.json'))).toBe(false)
  expect(existsSync(join(dataDir, 'worker', 'worker.sock'))).toBe(false)
  expect(processesWith(dataDir)).toEqual([])
}

async function occupyPort(): Promise<Server> {
  const server = createServer((_, response) => response.writeHead(404).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

test('an occupied port: exit 1, nothing advertised, nothing left', async () => {
  const dataDir = join(home, 'data')
  const server = await occupyPort()
  const port = String((server.address() as AddressInfo).port)
  try {
    for (const flag of ['--port', '--guest-port']) {
      const refused = await up(dataDir, flag, port)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(lastLine(refused)).toMatch(/^port_taken: .* — who can act: operator\.$/)
      await expectNothingLeft(dataDir)
    }
  } finally {
    server.close()
  }
  const sallyport = await startSallyport({ dataDir, args: ['--port', port] })
  running.push(sallyport)
  expect(portOf(sallyport.url)).toBe(port)
  expect(processesWith(dataDir)).not.toEqual([])
})

test('certificates that are none: exit 1, nothing advertised, nothing left', async () => {
  const dataDir = join(home, 'data')
  const bad = join(home, 'bad.pem')
  writeFileSync(bad, '-----BEGIN CERTIFICATE-----\nbm8=\n-----END CERTIFICATE-----\n')
  const refused = await up(dataDir, '--tls-cert', bad, '--tls-key', bad)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(lastLine(refused)).toMatch(/^bad_certificate: /)
  expect(existsSync(dataDir)).toBe(false)

  const sallyport = await startSallyport({ dataDir })
  running.push(sallyport)
  await sallyport.stop()
  for (const side of ['gateway', 'worker']) {
    const file = join(dataDir, side, `${side}.pem`)
    const good = readFileSync(file)
    writeFileSync(file, readFileSync(bad))
    const damaged = await up(dataDir)
    expect(damaged).toMatchObject({ code: 1, stdout: '' })
    expect(lastLine(damaged)).toMatch(/^bad_certificate: .* the next start makes a new one/)
    expect(damaged.stderr).toContain(file)
    await expectNothingLeft(dataDir)
    writeFileSync(file, good)
  }
  await sallyport.restart()
  expect((await sallyport.api('status.show')).worker).toMatchObject({ state: 'up' })
})

test('a password of the database is told nowhere, and as an argument warned of', async () => {
  const file = join(home, 'database')
  const url = 'postgres://u:SENTINEL@127.0.0.1:1/d'
  writeFileSync(file, url)
  const env = { SALLYPORT_LOG: 'debug' }
  const start = (args: readonly string[], more = {}): Promise<Ended> =>
    runCommand(['up', ...ports, ...args], { dataDir: home, home, env: { ...env, ...more } })
  const shown = await start(['--database', url])
  const others = [
    await start(['--database-file', file]),
    await start([], { SALLYPORT_DATABASE: url }),
  ]
  expect(shown.stderr).toMatch(/process list: give its URL by --database-file/)
  for (const { stderr } of others) expect(stderr).not.toContain('process list')
  for (const ended of [shown, ...others]) {
    expect(lastLine(ended)).toMatch(/^store_unavailable: /)
    expect(ended.stdout + ended.stderr).not.toContain('SENTINEL')
  }
})

test('a worker that cannot start: exit 1, nothing advertised, nothing left', async () => {
  const sallyport = await start()
  await sallyport.stop()
  const file = join(sallyport.dataDir, 'worker', 'vault.key')
  const key = readFileSync(file)
  writeFileSync(file, 'no key')
  const refused = await up(sallyport.dataDir)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  const log = join(sallyport.dataDir, 'gateway', 'worker.log')
  expect(lastLine(refused)).toMatch(/^vault_key_unusable: /)
  expect(lastLine(refused)).toContain(` — who can act: operator. See ${log}, which says: Error: `)
  await expectNothingLeft(sallyport.dataDir)
  writeFileSync(file, key)
  // The second certificate of such a file is read by the worker alone.
  const authorities = join(home, 'authorities.pem')
  const good = readFileSync(join(sallyport.dataDir, 'worker', 'authority.pem'), 'utf8')
  const bad = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'
  writeFileSync(authorities, `${good}${bad}`)
  const lacking = await up(sallyport.dataDir, '--upstream-ca', authorities)
  expect(lacking).toMatchObject({ code: 1, stdout: '' })
  expect(lastLine(lacking)).toMatch(/^worker_not_started: .* nothing of Sallyport runs now/)
  expect(lastLine(lacking)).toContain(`See ${log}, which says: Error: `)
  expect(lacking.stderr).not.toContain('by itself')
  await expectNothingLeft(sallyport.dataDir)
  await sallyport.restart()
  expect((await sallyport.api('status.show')).worker).toMatchObject({ state: 'up' })
})

test('a gateway without the data key of its database does not start, but of a restored backup', async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  await sallyport.stop()
  const file = join(sallyport.dataDir, 'gateway', 'data.key')
  const key = readFileSync(file)
  rmSync(file)
  const refused = await up(sallyport.dataDir)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(lastLine(refused)).toMatch(/^data_key_mismatch: .*--data-key-file/)
  await expectNothingLeft(sallyport.dataDir)
  writeFileSync(file, key)
  await sallyport.restart()
  expect(await sallyport.api('session.show', { id: session.id })).toMatchObject({ state: 'open' })
  await sallyport.stop()
  rmSync(file)
  await sallyport.restart({ args: ['--restored'] })
  expect((await sallyport.api('status.show')).worker).toMatchObject({ state: 'up' })
})

test('SIGTERM lets a call in flight end: its result arrives, and the exit code is 0', async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  const seen = upstream.count('tools/call')
  const answer = guestOf(session).call('slow', '{"ms":1500}')
  await upstream.received('tools/call', seen + 1)
  const stopped = sallyport.stop()
  expect(await answer).toMatchObject({ isError: false, text: 'late' })
  expect(await stopped).toBe(0)
  await expectNothingLeft(sallyport.dataDir)
  await sallyport.restart()
  const { items } = await sallyport.api('execution.list', { session: session.id })
  expect(items).toMatchObject([{ tool: 'slow', state: 'succeeded' }])
})

test('SIGTERM records what does not end: exit code 0, a read is lost, a write unknown', {
  timeout: 60_000,
}, async () => {
  const sallyport = await start()
  const session = await connect(sallyport)
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const seen = upstream.count('tools/call')
  const answers = Promise.allSettled([
    guestOf(session).call('counter_read'),
    guestOf(session).call('counter_add', '{"by":1}'),
  ])
  await upstream.received('tools/call', seen + 2)
  expect(await sallyport.stop()).toBe(0)
  expect(await answers).toMatchObject([
    { status: 'fulfilled', value: { isError: true, failure: { code: 'outcome_lost' } } },
    { status: 'fulfilled', value: { isError: true, failure: { code: 'outcome_unknown' } } },
  ])
  await expectNothingLeft(sallyport.dataDir)
  await sallyport.restart()
  const { items } = await sallyport.api('execution.list', { session: session.id })
  expect(Object.fromEntries(items.map(({ tool, state }) => [tool, state]))).toEqual({
    counter_read: 'lost',
    counter_add: 'unknown',
  })
})

test('a restored backup begins without sessions', async () => {
  const sallyport = await start()
  const { api } = sallyport
  const session = await connect(sallyport)
  await restart(sallyport, '--restored')
  expect(await statusOf(guestOf(session))).toBe(401)
  expect(await api('session.show', { id: session.id })).toMatchObject({
    state: 'ended',
    endReason: 'restored',
  })
  const next = await api('session.create', {}, { profile: 'p' })
  expect(await guestOf(next).call('counter_read')).toMatchObject({ isError: false })
  await restart(sallyport)
  expect(await statusOf(guestOf(next))).toBe(200)
})
