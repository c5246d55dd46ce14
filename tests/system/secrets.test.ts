/**
 * Credentials of every kind, taken through everything that can happen to them. Whatever a Sallyport showed meanwhile is
 * kept as evidence, place by place; at the end no place may hold one of them. A twin that leaks everywhere shows that
 * the search would find them.
 */
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { places } from './evidence.ts'
import { type Auth, failingServers, faultsOf, type Server, serve } from './failing-servers.ts'
import { type Era, RawGuest } from './raw-guest.ts'
import { basicOf, createSentinels, leaksOf, pathOf, type Sentinels } from './sentinels.ts'
import { type ApiJson, Watched } from './watched.ts'

let folder: string
let sallyport: Sallyport
let at: Watched
/** By the name that a finding would have. */
const secrets: Record<string, string> = {}
const servers: Server[] = []
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-secrets-'))
  for (const name of ['home', 'given']) mkdirSync(join(folder, name))
  sallyport = await startSallyport({ env: { SALLYPORT_LOG: 'trace' } })
  at = new Watched(sallyport, join(folder, 'home'))
})
afterAll(async () => {
  await sallyport?.remove()
  for (const server of servers) await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function plant(name: string): Sentinels {
  const made = createSentinels()
  for (const [kind, value] of Object.entries(made)) secrets[`${name}.${kind}`] = value
  return made
}

let given = 0
function fileOf(secret: string): string {
  const path = join(folder, 'given', String(++given))
  writeFileSync(path, secret)
  return path
}

/** Both ways a credential comes in. */
const doors = ['command line', 'API'] as const
type Door = (typeof doors)[number]

interface Added {
  readonly name: string
  readonly auth: Auth
  readonly url: string
  readonly has: Sentinels
}

function add(door: Door, added: Added): Promise<void> {
  return door === 'API' ? addInClear(added) : addSealed(added)
}

async function addSealed({ name, auth, url, has }: Added): Promise<void> {
  const secret =
    auth === 'bearer'
      ? ['--bearer-file', fileOf(has.bearer)]
      : ['--header-file', `Authorization=${fileOf(basicOf(has))}`]
  const key = ['--header-file', `X-Api-Key=${fileOf(has.header)}`]
  expect(await at.run(['connection', 'add', name, '-', ...key, ...secret], url)).toMatchObject({
    code: 0,
  })
}

async function addInClear({ name, auth, url, has }: Added): Promise<void> {
  const key = { name: 'X-Api-Key', value: has.header }
  const secret =
    auth === 'bearer'
      ? { token: has.bearer, headers: [key] }
      : { headers: [key, { name: 'Authorization', value: basicOf(has) }] }
  const body = { name, url, secret, allowPlaintext: true }
  expect(await at.ask('POST', '/connections', body)).toMatchObject({ status: 200 })
}

interface Used extends Added {
  readonly upstream: Upstream
}
const used: Used[] = []
const combinations = [
  { door: 'command line', auth: 'bearer', era: 'modern' },
  { door: 'command line', auth: 'login', era: 'legacy' },
  { door: 'API', auth: 'bearer', era: 'legacy' },
  { door: 'API', auth: 'login', era: 'modern' },
] as const

test.each(combinations)(
  'a credential ($auth, header, path, query) comes in by the $door and reaches its $era server',
  async ({ door, auth, era }) => {
    const name = `${door === 'API' ? 'api' : 'cli'}-${auth}`
    const has = plant(name)
    const upstream = await serve(auth, has, era)
    servers.push(upstream)
    const added = { name, auth, url: upstream.url, has, upstream }
    await add(door, added)
    used.push(added)
    for (const words of [
      ['catalog', 'discover', name],
      ['catalog', 'review', name, '--include', '*', '--read', '*'],
      ['catalog', 'publish', name],
      ['connection', 'enable', name],
    ])
      expect(await at.run([...words, '--json'])).toMatchObject({ code: 0, stderr: '' })
    const listing = upstream.requests.find(({ method }) => method === 'tools/list')
    expect(listing?.url).toBe(pathOf(has))
    expect(listing?.headers).toMatchObject({
      'x-api-key': has.header,
      authorization: auth === 'bearer' ? `Bearer ${has.bearer}` : basicOf(has),
    })
  },
)

let session: { readonly id: string; readonly endpoint: string; readonly token: string }

/** Of the same era as the server, and of the other. */
const otherEra = (auth: Auth): Era => (auth === 'bearer' ? 'modern' : 'legacy')

test('a server that says a secret of its connection is answered with credential_in_result', {
  timeout: 120_000,
}, async () => {
  await at.run(['profile', 'create', 'p'])
  for (const { name } of used)
    await at.run(['profile', 'grant', 'p', name, '*', '--mode', 'read', '--json'])
  const create = ['session', 'create', '--profile', 'p', '--isolation', 'external', '--json']
  session = JSON.parse((await at.run(create)).stdout)
  const { endpoint, token } = session
  for (const { name, auth } of used) {
    const leaks = leaksOf([auth, 'header', 'path', 'query'])
    const calls = leaks.map((leak) => ({ name: 'tell', arguments: { ...leak } }))
    const job = { endpoint: `${endpoint}/${name}`, token, era: otherEra(auth), calls }
    const answers = await at.guest(job).answers
    expect(answers).toHaveLength(leaks.length)
    for (const [index, leak] of leaks.entries()) {
      const { result, progress } = answers[index] ?? {}
      if (leak.way === 'progress') {
        expect(result?.content).toEqual([{ type: 'text', text: 'done' }])
        expect(progress).toEqual([{ progress: 1, total: 2 }])
      } else
        expect(result, JSON.stringify(leak)).toMatchObject({
          isError: true,
          structuredContent: { error: { code: 'credential_in_result' } },
        })
    }
  }
})

test('failing calls of every sort end with a code', { timeout: 120_000 }, async () => {
  const { endpoint, token } = session
  for (const { name, upstream, has, auth } of used) {
    const guest = new RawGuest({ endpoint: `${endpoint}/${name}`, token, era: otherEra(auth) })
    const call = async (tool: string) => {
      const answer = await guest.call(tool)
      at.evidence.add('guest result', `${name} ${tool}`, JSON.stringify(answer))
      return answer
    }
    for (const fault of faultsOf(has)) {
      upstream.misbehave(fault, { method: 'tools/call', times: 1 })
      const { failure } = await call('counter_read')
      expect(failure?.code, JSON.stringify(fault)).toMatch(/^(?:upstream_\w+|outcome_lost)$/)
    }
    expect(await call('fails')).toMatchObject({ isError: true })
    expect(await call('rpc_error')).toMatchObject({ failure: { code: 'upstream_error' } })
    expect(await call('counter_read')).toMatchObject({ isError: false })
  }
})

const failing = Object.entries(failingServers).map(([name, [code, start]], index) => ({
  name,
  code,
  start,
  door: doors[index % 2] as Door,
  auth: (index % 4 < 2 ? 'bearer' : 'login') as Auth,
}))

test.each(failing)('a server that fails ($name, by the $door) is told as $code', async (one) => {
  const { name, code, start, door, auth } = one
  const has = plant(name)
  const server = await start(has, auth)
  servers.push(server)
  await add(door, { name, auth, url: server.url, has })
  const discovered = await at.ask('POST', `/connections/${name}/catalog/discover`)
  expect(discovered.json.error).toMatchObject({ code })
  const { json } = await at.ask('POST', `/connections/${name}/test`)
  expect(json).toMatchObject({ state: 'failed', code })
  for (const verb of ['test', 'refresh'])
    expect(await at.run(['connection', verb, name])).toMatchObject({ code: 1 })
  expect(await at.run(['connection', 'status', name, '--json'])).toMatchObject({ code: 0 })
})

test('what is refused where it comes in is not repeated', { timeout: 60_000 }, async () => {
  const has = plant('refused')
  const local = `127.0.0.1:1${pathOf(has)}`
  const url = `http://${local}`
  const inClear = { name: 'no', url, allowPlaintext: true }
  const urls = [`http://${has.path}@${local}`, `${url}#${has.path}`, has.bearer, `ftp://${local}`]
  for (const bad of urls) {
    expect(await at.run(['connection', 'add', 'no', '-'], bad)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^bad_url: /),
    })
    const { json } = await at.ask('POST', '/connections', { ...inClear, url: bad })
    expect(json.error).toMatchObject({ code: 'bad_url' })
  }
  const tokens = [`${has.bearer}\r\nx: y`, has.bearer.repeat(300), `${has.bearer}\u0000`]
  for (const token of tokens) {
    for (const [flag, name] of [
      ['--bearer-file', ''],
      ['--header-file', 'X-Key='],
    ] as const) {
      const words = ['connection', 'add', 'no', '-', flag, `${name}${fileOf(token)}`]
      expect(await at.run(words, url)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/^bad_secret: /),
      })
    }
    const { json } = await at.ask('POST', '/connections', { ...inClear, secret: { token } })
    expect(json.error).toMatchObject({ code: 'bad_secret' })
  }
  const bodies: (object | string)[] = [
    { ...inClear, secret: { headers: [{ name: 'X-Key', value: `${has.header}\r` }] } },
    { ...inClear, secret: { headers: [{ name: 'Host', value: has.header }] } },
    { ...inClear, secret: has.bearer },
    { ...inClear, url: [url] },
    { name: 'no', url, secret: { token: has.bearer } },
    `{"name":"no","url":"${url}","url":"${url}"}`,
    `{"name":"no","secret":{"token":"${has.bearer}"`,
  ]
  for (const body of bodies) expect((await at.ask('POST', '/connections', body)).status).toBe(400)
})

test('a new secret takes the place of the old one', async () => {
  const [{ name, upstream, has }] = used as [Used]
  const { bearer } = plant('renewed')
  const key = ['--header-file', `X-Api-Key=${fileOf(has.header)}`, '--bearer-file', fileOf(bearer)]
  const words = ['connection', 'edit', name, ...key, '--same-url', '-', '--json']
  expect(await at.run(words, upstream.url)).toMatchObject({ code: 0 })
  expect(await at.run(['connection', 'test', name])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^upstream_http_401: /),
  })
  expect(upstream.requests.at(-1)?.headers.authorization).toBe(`Bearer ${bearer}`)
})

test('calls and commands are held, and their processes are looked at', async () => {
  const [, lister, , caller] = used as [Used, Used, Used, Used]
  caller.upstream.misbehave({ kind: 'hang' }, { method: 'tools/call', times: 1 })
  lister.upstream.misbehave({ kind: 'hang' }, { method: 'tools/list', times: 1 })
  const calls = caller.upstream.count('tools/call')
  const lists = lister.upstream.count('tools/list')
  const { endpoint, token } = session
  const job = { token, era: 'modern', calls: [{ name: 'counter_read', arguments: {} }] } as const
  const guest = at.guest({ ...job, endpoint: `${endpoint}/${caller.name}` })
  const command = at.command(['catalog', 'discover', lister.name])
  await caller.upstream.received('tools/call', calls + 1)
  await lister.upstream.received('tools/list', lists + 1)
  at.evidence.addProcesses('guest', guest.pid)
  at.evidence.addProcesses('command', command.pid)
  await at.evidence.addSallyport(sallyport)
  for (const { upstream } of [caller, lister]) upstream.answerHeld()
  expect(await guest.answers).toMatchObject([{ result: { content: expect.any(Array) } }])
  expect(await command.ended).toMatchObject({ code: 0 })
})

const readers = [
  ...['status', 'doctor', 'connection list', 'profile list', 'profile show p', 'session list'],
  ...['executions list', 'settings list', 'user list', 'token list', 'catalog show cli-login'],
  ...['catalog diff cli-login', 'connection show cli-bearer', 'connection status api-bearer'],
  'connection test api-login',
]

test('every command and API answer that reads is kept', { timeout: 120_000 }, async () => {
  for (const words of readers) {
    await at.run(words.split(' '))
    const { stdout } = await at.run([...words.split(' '), '--json'])
    expect(JSON.parse(stdout), words).toBeTypeOf('object')
  }
  const paths = ['/connections', '/sessions', '/profiles', '/doctor', '/status', '/settings']
  for (const path of [...paths, '/openapi.json', '/vault/key'])
    expect((await at.ask('GET', path)).status, path).toBe(200)
  const { json } = await at.ask('GET', '/executions?limit=1000')
  for (const { id } of json.items?.slice(0, 20) ?? []) await at.ask('GET', `/executions/${id}`)
  for (const harness of ['claude', 'codex'])
    expect(await at.run(['config', harness, '--session', session.id])).toMatchObject({ code: 0 })
})

test('no place holds any of the secrets', { timeout: 120_000 }, async () => {
  const { evidence } = at
  const { dataDir } = sallyport
  await evidence.addSallyport(sallyport)
  expect(await sallyport.stop()).toBe(0)
  evidence.addDatabase(join(dataDir, 'sallyport.db'))
  for (const place of [dataDir, at.home]) evidence.addFolder(place)
  evidence.add('gateway log', 'to its end', sallyport.output())
  for (const place of places) expect(evidence.count(place), place).toBeGreaterThan(0)
  expect(Object.keys(secrets)).toHaveLength(5 * (4 + failing.length + 2))
  expect(evidence.find(secrets)).toEqual([])
  // A session's token is told once, to whoever opened it; a hash of it is kept.
  const told = evidence.find({ token: session.token }).map(({ place }) => place)
  expect(told).toEqual(['command output'])
})

/** What a Sallyport that leaks would do, loaded into its gateway. The metrics tell which Node they come from. */
const sabotage = (marker: string) => `
process.title = '${marker}'
console.error('${marker}')
Object.defineProperty(process, 'version', { value: '${marker}' })`

test('the control: a twin that leaks in every place is found out in every place', async () => {
  const { bearer: marker } = createSentinels()
  const preload = join(folder, 'sabotage.mjs')
  writeFileSync(preload, sabotage(marker))
  const upstream = await startUpstream()
  servers.push(upstream)
  const env = { NODE_OPTIONS: `--import ${preload}`, LEAKED: marker }
  const twin = await startSallyport({ env })
  try {
    const home = join(folder, 'twin')
    mkdirSync(home)
    const watched = new Watched(twin, home)
    const { evidence } = watched
    const body = { name: 'lab', url: upstream.url, allowPlaintext: true }
    await watched.ask('POST', '/connections', body)
    for (const words of [
      ['catalog', 'discover', 'lab'],
      ['catalog', 'review', 'lab', '--include', 'echo', '--read', 'echo'],
      ['catalog', 'publish', 'lab'],
      ['connection', 'enable', 'lab'],
      ['profile', 'create', 'p'],
      ['profile', 'grant', 'p', 'lab', 'echo', '--mode', 'read'],
    ])
      expect(await watched.run(words)).toMatchObject({ code: 0 })
    const label = `of ${marker}`
    const { json } = await watched.ask('POST', '/sessions', { profile: 'p', label })
    const calls = [{ name: 'echo', arguments: { said: marker } }]
    const { token, endpoint } = json as Required<ApiJson>
    await watched.guest({ endpoint: `${endpoint}/lab`, token, era: 'modern', calls }).answers
    await watched.ask('GET', '/sessions')
    await watched.run(['session', 'list', '--json'])
    appendFileSync(join(twin.dataDir, 'gateway', 'worker.log'), `${marker}\n`)
    await evidence.addSallyport(twin)
    await twin.stop()
    evidence.addDatabase(join(twin.dataDir, 'sallyport.db'))
    const found = new Set(evidence.find({ marker }).map(({ place }) => place))
    expect([...found].sort()).toEqual([...places])
    // Secrets of the same kind that nobody leaked are not found.
    expect(evidence.find({ ...createSentinels() })).toEqual([])
  } finally {
    await twin.remove()
  }
})
