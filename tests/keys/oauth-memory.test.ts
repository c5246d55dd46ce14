/** Tokens, the secret of a client and what proves a sign-in to be ours: the gateway arranges all of it and holds none. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantTools, type OpenSession, publishTools } from '../harness/setup-connection.ts'
import { GatewayWorld } from '../oauth/gateway-world.ts'
import { runCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { Evidence, formsOf } from '../system/evidence.ts'
import { searchMemory } from './process-memory.ts'

const clientSecret = `client-${randomBytes(16).toString('hex')}`
/** A name, which is no secret: whatever looks for it must find it. */
const planted = `planted-${randomBytes(8).toString('hex')}`

let world: GatewayWorld
let home: string
let session: OpenSession
beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-oauth-memory-'))
  world = await GatewayWorld.start({ tells: 'id_token', expiresIn: 12 })
  const redirectUris = [`${world.sallyport.url}/oauth/callback`]
  world.server.clients.set('mine', { secret: clientSecret, redirectUris })
}, 60_000)
afterAll(async () => {
  await world?.stop()
  rmSync(home, { recursive: true, force: true })
})

test('a client is typed, somebody signs in, a guest calls, and tokens are renewed', {
  timeout: 60_000,
}, async () => {
  const clientFile = join(home, 'client.json')
  const client = { issuer: world.server.issuer, client_id: 'mine', client_secret: clientSecret }
  const auth = { token_endpoint_auth_method: 'client_secret_post' }
  writeFileSync(clientFile, JSON.stringify({ ...client, ...auth }))
  const words = ['connection', 'add', planted, '-', '--oauth', '--client-file', clientFile]
  const { dataDir } = world.sallyport
  const added = await runCommand(words, { dataDir, home, stdin: world.mcp.url })
  expect(added).toMatchObject({ code: 0 })
  expect(await world.signIn(planted)).toMatchObject({ state: 'done' })
  const spec = { name: planted, url: world.mcp.url, read: ['counter_read'], profile: 'p' }
  await publishTools(world.sallyport, spec)
  await grantTools(world.sallyport, spec)
  session = await world.api('session.create', {}, { profile: 'p' })
  expect(await world.call(planted, session)).toMatchObject({ isError: false })
  await world.until(planted, ({ credential }) => (credential?.version ?? 0) > 1)
  expect(await world.call(planted, session)).toMatchObject({ isError: false })
  expect(world.server.grants.issued.length).toBeGreaterThan(3)
  expect(world.server.asked('/token').map(({ form }) => form.get('client_secret'))).toContain(
    clientSecret,
  )
})

/** Everything that only the worker and the server know. */
function secrets(): Record<string, string> {
  const verifiers = world.server
    .asked('/token')
    .flatMap(({ form }) => form.get('code_verifier') ?? [])
  expect(verifiers).toHaveLength(1)
  const all = [...world.server.grants.issued, ...verifiers]
  return { clientSecret, ...Object.fromEntries(all.map((one, n) => [`issued ${n}`, one])) }
}

const needlesOf = (values: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const forms = [...new Set(formsOf(value))]
      return [name, [...forms.map((form) => Buffer.from(form)), Buffer.from(value, 'utf16le')]]
    }),
  )

test('neither the memory of the gateway nor its database and folder hold one', {
  timeout: 300_000,
}, () => {
  const { found, bytes } = searchMemory(world.sallyport.pid, needlesOf({ ...secrets(), planted }))
  expect(found).toEqual(['planted'])
  expect(bytes).toBeGreaterThan(20 * 1024 * 1024)
  const { dataDir } = world.sallyport
  const evidence = new Evidence()
  for (const name of readdirSync(dataDir))
    if (name.startsWith('sallyport.db'))
      evidence.add('file', name, readFileSync(join(dataDir, name)))
  evidence.addFolder(join(dataDir, 'gateway'))
  evidence.add('gateway log', 'output', world.sallyport.output())
  expect(evidence.find(secrets())).toEqual([])
  expect(evidence.find({ planted }).length).toBeGreaterThan(0)
})

test('the control: the worker holds the token of the call a moment ago', {
  timeout: 300_000,
}, async () => {
  const found = async (): Promise<string[]> => {
    const before = world.mcp.requests.length
    // A token may be over just then; the next call has a new one.
    if ((await world.call(planted, session)).isError) return []
    const token = world.mcp.requests.slice(before).at(-1)?.token ?? ''
    expect(world.server.grants.issued).toContain(token)
    return searchMemory(world.sallyport.workerPid() as number, needlesOf({ token })).found
  }
  // What is looked at changes meanwhile: what moves just then is missed.
  expect(await eventually(found, ({ length }) => length > 0, 30_000)).toEqual(['token'])
})
