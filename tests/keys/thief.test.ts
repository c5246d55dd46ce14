/**
 * A thief with everything the gateway has: its database, its signing key, its place at the worker's socket. What is sealed
 * still goes nowhere but where its seal says, and is answered with nothing that the thief could open.
 */
import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type Origin, parseEndpoint } from '@sallyport/protocol'
import {
  digestBytes,
  openSeal,
  readSealHeader,
  type SealPlace,
  seal,
} from '@sallyport/protocol/node'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { preparePki } from '../../apps/gateway/src/pki/prepare-pki.ts'
import {
  type Answer,
  ScriptedGateway,
  type SealedConnection,
} from '../../apps/worker/src/testing/scripted-gateway.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { addConnection } from './key-world.ts'

const token = 'SENTINEL-token-0123456789abcdef'

let sallyport: Sallyport
let victim: Upstream
let evil: Upstream
let thief: ScriptedGateway
let stored: Stored

/** What the database has of the victim's connection. */
interface Stored {
  readonly id: string
  readonly scope: string
  readonly revision: number
  readonly endpoint: string
  readonly clear: Origin
  readonly credentialId: string
  readonly credentialVersion: number
  readonly credential: string
  readonly credentialClear: { readonly bearer: boolean; readonly headerNames: string[] }
}

beforeAll(async () => {
  sallyport = await startSallyport()
  victim = await startUpstream({ bearer: token })
  evil = await startUpstream()
  await addConnection(sallyport, { name: 'lab', token, url: victim.url, scope: 'org' })
  stored = readDatabase()
  const { gateway, authorityPem } = preparePki(sallyport.dataDir)
  thief = await ScriptedGateway.connect({
    address: { path: join(sallyport.dataDir, 'worker', 'worker.sock') },
    identity: gateway,
    authorityPem,
  })
})
afterAll(async () => {
  thief?.cut()
  await sallyport?.remove()
  await Promise.all([victim?.close(), evil?.close()])
})

function readDatabase(): Stored {
  const database = new DatabaseSync(join(sallyport.dataDir, 'sallyport.db'), { readOnly: true })
  try {
    const connection = database.prepare('SELECT * FROM connections').get() as never as Record<
      string,
      string
    >
    const credential = database.prepare('SELECT * FROM credentials').get() as never as Record<
      string,
      string
    >
    return {
      id: connection['id'] as string,
      scope: connection['scope'] as string,
      revision: Number(connection['revision']),
      endpoint: connection['endpoint_seal'] as string,
      clear: JSON.parse(connection['endpoint_clear'] as string),
      credentialId: credential['id'] as string,
      credentialVersion: Number(credential['version']),
      credential: credential['seal'] as string,
      credentialClear: JSON.parse(credential['clear'] as string),
    }
  } finally {
    database.close()
  }
}

/** The victim's credential, beside an endpoint of the thief's own choice. */
function connectionTo(url: string, endpoint = sealedEndpoint(url)): SealedConnection {
  const { scheme, host, port } = parseEndpoint(url, true)
  return {
    claims: {
      connectionId: stored.id,
      connectionRevision: stored.revision,
      scope: stored.scope,
      endpointDigest: digestBytes(endpoint),
      endpointClear: { scheme, host, port },
      credentialId: stored.credentialId,
      credentialVersion: stored.credentialVersion,
      credentialDigest: digestBytes(stored.credential),
      credentialClear: stored.credentialClear,
    },
    endpoint,
    credential: stored.credential,
  }
}

/** Anybody may seal to the public key. */
function sealedEndpoint(url: string): string {
  const { id, scope, revision: version } = stored
  const key = thief.hello.vault
  if (!key) throw new Error('no vault key')
  return seal({ url }, { kind: 'endpoint', id, scope, version }, key)
}

const place = (): SealPlace => ({
  kind: 'credential',
  id: stored.credentialId,
  scope: stored.scope,
  version: stored.credentialVersion,
})

const resealed = (to: string, claims = {}): Promise<Answer> => {
  const { kind, id: rowId, scope, version } = place()
  return thief.tend('reseal', stored.credential, {
    kind,
    rowId,
    scope,
    version,
    toKid: to,
    ...claims,
  })
}

test('the control: the thief’s orders are carried out where the seal lets them', async () => {
  const { head } = await thief.order({ connection: connectionTo(victim.url, stored.endpoint) })
  expect(head.verdict).toBe('result')
  expect(victim.requests.at(-1)?.headers.authorization).toBe(`Bearer ${token}`)
})

test('the stored secret goes to no other server, by a list or a call', async () => {
  const connection = connectionTo(evil.url)
  const toolDigest = `sha256:${'0'.repeat(64)}`
  for (const order of [{ connection }, { connection, tool: 'counter_read', toolDigest }])
    expect((await thief.order(order)).head).toMatchObject({
      verdict: 'not_sent',
      code: 'destination_refused',
    })
  expect(evil.connections).toBe(0)
})

test('nor as a webhook, nor to another path of its own server', async () => {
  const { id, scope, revision: version } = stored
  const asWebhook = { kind: 'webhook', id, scope, version }
  expect((await resealed(thief.hello.vault?.kid as string, { kind: 'webhook' })).head.code).toBe(
    'seal_other_column',
  )
  expect(readSealHeader(stored.credential).sallyport).not.toEqual(asWebhook)
  const elsewhere = victim.url.replace('/mcp', '/other')
  expect((await thief.order({ connection: connectionTo(elsewhere) })).head.code).toBe(
    'destination_refused',
  )
})

const otherSpellings = (): string[] => {
  const [good, bad] = [victim.port, evil.port]
  return [
    `http://localhost:${bad}/mcp`,
    `http://2130706433:${bad}/mcp`,
    `http://[::ffff:127.0.0.1]:${bad}/mcp`,
    `http://127.0.0.1:${good}@127.0.0.1:${bad}/mcp`,
    `http://127.0.0.1:${bad}\\@127.0.0.1:${good}/mcp`,
    `http://127.0.0.1:${bad}/mcp?to=${victim.url}`,
    `http://127.0.0.1:${bad}/mcp#${victim.url}`,
    `${victim.url}/../other`,
    `${victim.url}%2f..%2fother`,
    `${victim.url}/`,
    victim.url.replace('/mcp', '/MCP'),
    victim.url.replace('127.0.0.1', 'localhost'),
  ]
}

test('nor to any of them spelt otherwise, whichever of the two is told beside the seal', async () => {
  const heard = victim.requests.length
  for (const url of otherSpellings())
    for (const told of [victim, evil]) {
      const clear = { scheme: 'http', host: '127.0.0.1', port: told.port } as const
      const endpoint = sealedEndpoint(url)
      const connection = connectionTo(victim.url, endpoint)
      const claims = { endpointClear: clear }
      const { head } = await thief.order({ connection, claims })
      expect(head.verdict, url).toBe('not_sent')
      expect(['destination_refused', 'seal_mismatch', 'bad_url'], url).toContain(head.code)
    }
  expect(evil.connections).toBe(0)
  expect(victim.requests).toHaveLength(heard)
})

test('sealed again, it is sealed to keys of the worker only, and for its own place', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const own = { kid: 'thief', jwk: { kty: 'OKP', crv: 'X25519', x }, privateKey } as const
  expect((await resealed('thief')).head).toMatchObject({ code: 'seal_key_unknown' })
  const kid = thief.hello.vault?.kid as string
  for (const [claims, code] of [
    [{ rowId: 'crd_0123456789abcdefghjkmnpqrs' }, 'seal_other_row'],
    [{ scope: 'personal:usr_1' }, 'seal_other_scope'],
    [{ version: 2 }, 'seal_other_version'],
    [{ kind: 'endpoint' }, 'seal_other_column'],
  ] as const)
    expect((await resealed(kid, claims)).head.code).toBe(code)
  const { head, raw } = await resealed(kid)
  expect(head.verdict).toBe('result')
  expect(readSealHeader(raw.toString())).toMatchObject({ kid, sallyport: place() })
  expect(() => openSeal(raw.toString(), place(), [{ ...own, kid }])).toThrow()
})

test('nothing that came back to the thief holds the secret, and the key that seals stays', async () => {
  const kid = thief.hello.vault?.kid as string
  expect((await thief.tend('retire', '', { kid })).head).toMatchObject({ code: 'conflict' })
  const said = thief.frames.map(({ head, raw }) => JSON.stringify(head) + raw.toString('latin1'))
  expect(said.filter((frame) => frame.includes(token))).toEqual([])
  expect(said.length).toBeGreaterThan(10)
  expect(await sallyport.api('connection.test', { name: 'lab' })).toMatchObject({ state: 'ok' })
})
