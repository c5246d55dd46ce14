/**
 * Whoever can write the database, or speak to the API, still cannot make the worker send a secret elsewhere or send what
 * breaks a header. The database is edited as a thief would, while Sallyport is stopped.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { idSource } from '@sallyport/protocol'
import { seal } from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, connectUpstream, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { RawGuest } from './raw-guest.ts'

/** What the statements may name. `own` is the edited connection, `other` an untouched one. */
interface Named {
  readonly own: string
  readonly ownCredential: string
  readonly other: string
  readonly otherCredential: string
  readonly otherPort: number
  /** Of the credential as it was before it was renewed. */
  readonly oldSeal: string
}

const connectionWith = (set: string) => `UPDATE connections SET ${set} WHERE id = :own`
const credentialWith = (set: string) => `UPDATE credentials SET ${set} WHERE id = :ownCredential`
/** Bindings are edited along, so that it is not the gateway that notices. */
const bindingsWith = (set: string) => `UPDATE bindings SET ${set} WHERE connection_id = :own`
const endpointOf = (id: string) => `(SELECT endpoint_seal FROM connections WHERE id = ${id})`

const edits: Readonly<Record<string, readonly [code: string, what: string, ...sql: string[]]>> = {
  'moved-credential': [
    'seal_other_row',
    'the credential of another row',
    credentialWith('seal = (SELECT seal FROM credentials WHERE id = :otherCredential)'),
  ],
  'moved-endpoint': [
    'seal_other_row',
    'the endpoint of another row',
    connectionWith(`endpoint_seal = ${endpointOf(':other')}`),
  ],
  'other-column': [
    'seal_other_column',
    'an endpoint in the place of a credential',
    credentialWith(`seal = ${endpointOf(':own')}`),
  ],
  'old-version': [
    'seal_other_version',
    'the credential of an older version',
    credentialWith('seal = :oldSeal'),
  ],
  'other-version': [
    'seal_other_version',
    'a version that is not the one inside',
    credentialWith('version = version + 1'),
  ],
  'other-revision': [
    'seal_other_version',
    'a revision that is not the one inside',
    connectionWith('revision = 2'),
    bindingsWith('connection_revision = 2'),
  ],
  'other-scope': [
    'seal_other_scope',
    'another scope',
    connectionWith(`scope = 'project:x'`),
    bindingsWith(`scope = 'project:x'`),
  ],
  damaged: [
    'seal_unreadable',
    'a seal with some bytes changed',
    credentialWith(`seal = substr(seal, 1, length(seal) - 30) || 'AAA' || substr(seal, -27)`),
  ],
  truncated: [
    'seal_truncated',
    'a seal that lost its end',
    credentialWith('seal = substr(seal, 1, length(seal) - 1)'),
  ],
  'other-host': [
    'seal_mismatch',
    'another host beside the seal',
    connectionWith(`endpoint_clear = json_set(endpoint_clear, '$.host', 'localhost')`),
  ],
  'other-port': [
    'seal_mismatch',
    'another port beside the seal',
    connectionWith(`endpoint_clear = json_set(endpoint_clear, '$.port', :otherPort)`),
  ],
  'other-names': [
    'seal_mismatch',
    'another header name beside the seal',
    credentialWith(`clear = json_set(clear, '$.headerNames[0]', 'X-Other')`),
  ],
  'no-bearer': [
    'seal_mismatch',
    'a bearer that is not told beside the seal',
    credentialWith(`clear = json_set(clear, '$.bearer', json('false'))`),
  ],
  stolen: [
    'destination_refused',
    'the credential of another connection',
    connectionWith('credential_id = :otherCredential'),
    bindingsWith('credential_id = :otherCredential'),
  ],
}
const names = Object.keys(edits)

let sallyport: Sallyport
let session: OpenSession
let untouched: Upstream
const upstreams = new Map<string, Upstream>()
let oldSeal = ''

const headersOf = { 'x-key': 'key-0123456789' }
const secretsOf = (upstream: Upstream) => ({
  url: upstream.url,
  token: 'token-0123456789',
  headers: [{ name: 'X-Key', value: headersOf['x-key'] }],
})

beforeAll(async () => {
  sallyport = await startSallyport()
  untouched = await connect('untouched')
  for (const name of names) upstreams.set(name, await connect(name))
  session = await sallyport.api('session.create', {}, { profile: 'p' })
  await renewCredential('old-version')
}, 120_000)
afterAll(async () => {
  await sallyport?.remove()
  for (const upstream of [untouched, ...upstreams.values()]) await upstream?.close()
})

async function connect(name: string): Promise<Upstream> {
  const upstream = await startUpstream({ bearer: 'token-0123456789', headers: headersOf })
  const spec = { name, ...secretsOf(upstream), profile: 'p', read: ['counter_read'] }
  await connectAndGrant(sallyport, spec)
  return upstream
}

/** Keeps the seal of the credential, and gives the connection a new one. */
async function renewCredential(name: string): Promise<void> {
  const { url, token, headers } = secretsOf(upstreams.get(name) as Upstream)
  await sallyport.stop()
  withDatabase((database) => {
    const sql = 'SELECT seal FROM credentials WHERE id = ?'
    oldSeal = String(database.prepare(sql).get(idsOf(database, name).credential)?.['seal'])
  })
  await sallyport.restart()
  const body = {
    url,
    secret: { token, headers },
    allowPlaintext: true,
    keepEndpoint: true,
  } as const
  await sallyport.api('connection.edit', { name }, body)
}

function withDatabase(work: (database: DatabaseSync) => void): void {
  const database = new DatabaseSync(join(sallyport.dataDir, 'sallyport.db'))
  try {
    work(database)
  } finally {
    database.close()
  }
}

function idsOf(database: DatabaseSync, name: string): { id: string; credential: string } {
  const sql = 'SELECT id, credential_id AS credential FROM connections WHERE name = ?'
  return database.prepare(sql).get(name) as { id: string; credential: string }
}

const guestOf = (name: string) =>
  new RawGuest({
    endpoint: `${sallyport.guestUrl}/mcp/${name}`,
    token: session.token,
    era: 'modern',
  })

test('before the database is edited, every connection works', async () => {
  for (const name of ['untouched', ...names]) {
    expect(await sallyport.api('connection.test', { name })).toMatchObject({ state: 'ok' })
    expect(await guestOf(name).call('counter_read')).toMatchObject({ isError: false })
  }
})

const seen = new Map<string, number>()

test('the database is edited while nobody looks', async () => {
  expect(await sallyport.stop()).toBe(0)
  withDatabase((database) => {
    for (const [name, [, , ...statements]] of Object.entries(edits))
      for (const sql of statements) expect(change(database, name, sql), sql).toBeGreaterThan(0)
  })
  for (const [name, upstream] of upstreams) seen.set(name, upstream.requests.length)
  await sallyport.restart()
})

/** How many rows. */
function change(database: DatabaseSync, name: string, sql: string): number | bigint {
  const [own, other] = [idsOf(database, name), idsOf(database, 'untouched')]
  const named: Named = {
    own: own.id,
    ownCredential: own.credential,
    other: other.id,
    otherCredential: other.credential,
    otherPort: untouched.port,
    oldSeal,
  }
  const statement = database.prepare(sql)
  statement.setAllowUnknownNamedParameters(true)
  return statement.run({ ...named }).changes
}

test.each(Object.entries(edits).map(([name, [code, what]]) => ({ name, code, what })))(
  '$what: refused with $code, and no server hears of it',
  async ({ name, code }) => {
    const { api } = sallyport
    const others = untouched.requests.length
    expect(await guestOf(name).call('counter_read')).toMatchObject({
      isError: true,
      failure: { code },
    })
    const { items } = await api('execution.list', { session: session.id, limit: 1 })
    expect(items[0]).toMatchObject({ connection: name, state: 'not_sent', code })
    const { id } = (await api('connection.list')).items.find((one) => one.name === name) ?? {}
    const named = { name: id as string }
    expect(await api('connection.test', named)).toMatchObject({ state: 'failed', code })
    expect((await api('connection.show', named)).health).toMatchObject({ state: 'seal', code })
    await expect(api('catalog.discover', named)).rejects.toMatchObject({ code })
    expect(upstreams.get(name)?.requests.length).toBe(seen.get(name))
    expect(untouched.requests.length).toBe(others)
  },
)

test('the connection that was not edited still works', async () => {
  expect(await sallyport.api('connection.test', { name: 'untouched' })).toMatchObject({
    state: 'ok',
  })
  expect(await guestOf('untouched').call('counter_read')).toMatchObject({ isError: false })
})

const ids = idSource(Date.now, (size) => randomBytes(size))

interface Sealed {
  readonly url?: string
  readonly secret?: Record<string, unknown>
  readonly clear?: { readonly bearer: boolean; readonly headerNames: string[] }
}

/** Adds what a client seals that checks nothing. */
async function addUnchecked({ url = untouched.url, secret, clear }: Sealed): Promise<string> {
  const { api } = sallyport
  const key = await api('vault.show')
  const [id, credentialId] = [ids('connection'), ids('credential')]
  const place = { scope: 'org', version: 1 } as const
  const plain = { headers: [], destinations: [untouched.url], ...secret }
  await api(
    'connection.create',
    {},
    {
      id,
      name: `c-${id.slice(-12)}`,
      endpoint: {
        seal: seal({ url }, { kind: 'endpoint', id, ...place }, key),
        clear: { scheme: 'http', host: '127.0.0.1', port: untouched.port },
      },
      credential: {
        id: credentialId,
        seal: seal(plain, { kind: 'credential', id: credentialId, ...place }, key),
        clear: clear ?? { bearer: true, headerNames: [] },
      },
    },
  )
  return id
}

const oneHeader = { bearer: false, headerNames: ['X-Key'] }
const header = (value: string, name = 'X-Key') => ({ headers: [{ name, value }] })

test.each<[string, string, () => Sealed]>([
  ['a token over 8,192 bytes', 'bad_secret', () => ({ secret: { token: 'x'.repeat(8_193) } })],
  ['an empty token', 'bad_secret', () => ({ secret: { token: '' } })],
  ['a token with a line end', 'bad_secret', () => ({ secret: { token: 'a\r\nx-evil: 1' } })],
  ['a header value with a CR', 'bad_secret', () => ({ secret: header('a\rb'), clear: oneHeader })],
  [
    'a header value over 8,192 bytes',
    'bad_secret',
    () => ({ secret: header('x'.repeat(8_193)), clear: oneHeader }),
  ],
  [
    'a header that is told by another name',
    'bad_header',
    () => ({ secret: header('evil', 'Host'), clear: oneHeader }),
  ],
  [
    'more headers than are told',
    'seal_mismatch',
    () => ({
      secret: { headers: ['X-Key', 'X-More'].map((name) => ({ name, value: 'v' })) },
      clear: oneHeader,
    }),
  ],
  [
    'an address with a fragment',
    'bad_url',
    () => ({ url: `${untouched.url}#x`, secret: { token: 'token' } }),
  ],
  [
    'an address with a user',
    'bad_url',
    () => ({ url: untouched.url.replace('//', '//user@'), secret: { token: 'token' } }),
  ],
  [
    'an address of plain http on another machine',
    'bad_url',
    () => ({ url: 'http://192.0.2.1:80/mcp', secret: { token: 'token' } }),
  ],
  [
    'our own listener behind another port',
    'seal_mismatch',
    () => ({ url: `${sallyport.url}/mcp`, secret: { token: 'token' } }),
  ],
  [
    'a secret for another place',
    'destination_refused',
    () => ({ secret: { token: 'token', destinations: ['https://mcp.example.com/mcp'] } }),
  ],
  ['no secret at all', 'seal_unreadable', () => ({ secret: { headers: 'none' } })],
])('%s, sealed by a client that checks nothing, is refused with %s', async (_what, code, make) => {
  const name = await addUnchecked(make())
  const before = untouched.requests.length
  await expect(sallyport.api('catalog.discover', { name })).rejects.toMatchObject({ code })
  expect(await sallyport.api('connection.test', { name })).toMatchObject({ state: 'failed', code })
  await expect(sallyport.api('connection.enable', { name })).rejects.toMatchObject({
    code: 'not_published',
  })
  expect(untouched.requests.length).toBe(before)
  await sallyport.api('connection.remove', { name })
})

test('what is sealed by a client that checks nothing, and is right, is taken', async () => {
  const { token, headers } = secretsOf(untouched)
  const clear = { bearer: true, headerNames: ['X-Key'] }
  const name = await addUnchecked({ secret: { token, headers }, clear })
  expect(await sallyport.api('catalog.discover', { name })).toMatchObject({ state: 'discovered' })
})

test('our own listeners are refused as a destination where it comes in', async () => {
  for (const url of [sallyport.url, sallyport.guestUrl])
    await expect(connectUpstream(sallyport, { name: 'us', url })).rejects.toMatchObject({
      code: 'bad_url',
    })
})
