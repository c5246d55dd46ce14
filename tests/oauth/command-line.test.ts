/** Sign-ins as a person makes them at the command line: clients from files, another server, and machines with nobody. */
import { spawn } from 'node:child_process'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { GatewayWorld } from './gateway-world.ts'
import { ScriptedAuthorizationServer } from './scripted-authorization-server.ts'

const launcher = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bin', 'sallyport.js')
let world: GatewayWorld
let home: string
let other: ScriptedAuthorizationServer | undefined
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-oauth-cli-'))
  world = await GatewayWorld.start({ tells: 'id_token' })
}, 60_000)
afterEach(async () => {
  await other?.close()
  other = undefined
  world.mcp.switches.issuers = [world.server.issuer]
})
afterAll(async () => {
  await world?.stop()
  rmSync(home, { recursive: true, force: true })
})

/** `visits`: opens the address that the command prints, and goes back with what that server says. */
async function run(words: readonly string[], visits?: ScriptedAuthorizationServer) {
  const { PATH = '' } = process.env
  const child = spawn(process.execPath, [launcher, ...words, '--json'], {
    cwd: home,
    env: { PATH, HOME: home, SALLYPORT_DATA: world.sallyport.dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const told = { stdout: '', stderr: '' }
  let hasBeen = visits === undefined
  child.stdout.on('data', (chunk) => (told.stdout += chunk))
  child.stderr.on('data', (chunk) => {
    told.stderr += chunk
    const address = /^ {2}(http\S+)\n/m.exec(told.stderr)?.[1]
    if (hasBeen || address === undefined) return
    hasBeen = true
    void world.callback(visits?.visit(address) ?? {})
  })
  const [code] = await once(child, 'close')
  return { code, ...told, answer: JSON.parse(told.stdout || '{}') }
}

function file(name: string, content: object): string {
  const path = join(home, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}

const authorize = (name: string, ...more: string[]) =>
  run(['connection', 'authorize', name, '--no-browser', ...more], other ?? world.server)
const add = (name: string, ...more: string[]) =>
  run(['connection', 'add', name, world.mcp.url, ...more])

function expectNowhere(...secrets: string[]): void {
  for (const name of ['sallyport.db', 'sallyport.db-wal']) {
    const text = readFileSync(join(world.sallyport.dataDir, name), 'latin1')
    for (const secret of secrets) expect(text.includes(secret)).toBe(false)
  }
}

test('a client from a file is the one that signs in, and none is registered', {
  timeout: 60_000,
}, async () => {
  const secret = 'typed-secret-0123456789'
  const redirectUris = [`${world.sallyport.url}/oauth/callback`]
  world.server.clients.set('typed', { secret, redirectUris })
  const client = file('client.json', { client_id: 'typed', client_secret: secret })
  expect((await add('typed', '--oauth', '--client-file', client)).code).toBe(0)
  const done = await authorize('typed')
  expect(done).toMatchObject({ code: 0, answer: { state: 'done', account: 'first' } })
  expect(world.server.asked('/register')).toEqual([])
  expect(world.server.asked('/token').at(-1)?.headers.authorization).toMatch(/^Basic /)
  expectNowhere(secret)
  // Control: without one it is registered, and signs in as well.
  expect((await add('plain', '--oauth')).code).toBe(0)
  expect(await authorize('plain')).toMatchObject({ code: 0, answer: { state: 'done' } })
  expect(world.server.asked('/register')).toHaveLength(1)
})

test('a server that names another authorization server waits for a person who agrees to it', {
  timeout: 60_000,
}, async () => {
  expect((await add('moved', '--oauth')).code).toBe(0)
  expect(await authorize('moved')).toMatchObject({ code: 0, answer: { state: 'done' } })
  other = await ScriptedAuthorizationServer.start({ tells: 'id_token' })
  const { lets } = world.mcp.switches
  world.mcp.switches.lets = (token, resource, isCall) =>
    lets(token, resource, isCall) || (other?.accepts(token, resource) ?? false)
  world.mcp.switches.issuers = [other.issuer]
  const refused = await authorize('moved')
  expect(refused.code).not.toBe(0)
  expect(refused.stdout + refused.stderr).toContain('oauth_issuer_changed')
  expect(other.asked('/token')).toEqual([])
  // What was there goes on: nothing but a person moves it.
  expect(await world.show('moved')).toMatchObject({ credential: { version: 1, state: 'active' } })
  const moved = await authorize('moved', '--accept-issuer')
  expect(moved).toMatchObject({ code: 0, answer: { state: 'done', account: 'other' } })
  expect(other.asked('/token')).toHaveLength(1)
  const { credential } = await world.show('moved')
  expect(credential?.oauth?.issuerHost).toBe(new URL(other.issuer).host)
})

test.each(['client_secret', 'private_key_jwt'] as const)(
  'client credentials with %s need nobody, and are renewed alone',
  {
    timeout: 60_000,
  },
  async (method) => {
    const secret = `machine-secret-${method}`
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
    const isKey = method === 'private_key_jwt'
    const publicKeyPem = publicKey.export({ type: 'spki', format: 'pem' }).toString()
    world.server.clients.set(method, isKey ? { publicKeyPem } : { secret })
    const proof = isKey ? { private_key_pem: pem } : { client_secret: secret }
    const client = file(`${method}.json`, { client_id: method, ...proof })
    const name = method.replaceAll('_', '-')
    expect((await add(name, '--client-credentials', '--client-file', client)).code).toBe(0)
    expect(await authorize(name)).toMatchObject({ code: 0, answer: { state: 'done' } })
    const asked = world.server.asked('/token').at(-1)?.form
    expect(asked?.get('grant_type')).toBe('client_credentials')
    expect(asked?.has('client_assertion')).toBe(isKey)
    expect(await world.api('connection.test', { name })).toMatchObject({ state: 'ok' })
    world.mcp.refuseNewest()
    expect(await world.api('connection.test', { name })).toMatchObject({ state: 'ok' })
    expect(await world.show(name)).toMatchObject({
      auth: 'client_credentials',
      credential: { version: 2, state: 'active', oauth: { refreshable: true } },
    })
    const lines = pem.split('\n').filter((line) => line.length > 40 && !line.startsWith('-'))
    expectNowhere(secret, ...lines)
  },
)

test('a client that the server does not know is told as such, and nothing is signed in', {
  timeout: 60_000,
}, async () => {
  const client = file('stranger.json', {
    client_id: 'stranger',
    client_secret: 'nobody-knows-this',
  })
  expect((await add('stranger', '--client-credentials', '--client-file', client)).code).toBe(0)
  const refused = await authorize('stranger')
  expect(refused.code).not.toBe(0)
  expect(refused.stdout + refused.stderr).toContain('oauth_invalid_client')
  expect(refused.stdout + refused.stderr).not.toContain('nobody-knows-this')
  expect((await world.show('stranger')).credential).toBeNull()
})
