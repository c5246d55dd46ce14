import type { SealPlace } from '@sallyport/protocol/node'
import { digestBytes, openSeal, readSealHeader, seal } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { MemorySource } from '../testing/memory-source.ts'
import {
  type ConnectionOptions,
  type SealedConnection,
  sealForTest,
} from '../testing/scripted-gateway.ts'
import { createVaultKey } from '../testing/worker-under-test.ts'
import { type Claims, Vault } from './vault.ts'

const key = createVaultKey()
const url = 'https://mcp.example.com/v1/mcp?tenant=acme-1234'
const token = 'token-1234567890'

function vault(options: { localAllowed?: boolean; monotonic?: () => number } = {}): Vault {
  const ring = new MemorySource(key).ring()
  return new Vault({ ring, localAllowed: false, monotonic: () => 0, ...options })
}

function sealed(options: Partial<ConnectionOptions> = {}): SealedConnection {
  return sealForTest({ url, token, key, ...options })
}

function open(at: Vault, connection: SealedConnection, claims: Partial<Claims> = {}) {
  return at.open({ ...connection.claims, ...claims } as Claims, connection)
}

const refuses = (code: string) => expect.objectContaining({ code })

test('opens an endpoint and the credential that may go there', () => {
  const target = open(vault(), sealed({ headers: [{ name: 'X-Key', value: 'key-1234567890' }] }))
  expect(target.endpoint).toMatchObject({
    scheme: 'https',
    host: 'mcp.example.com',
    port: 443,
    path: '/v1/mcp?tenant=acme-1234',
  })
  expect(target.headers).toEqual(['X-Key', 'key-1234567890', 'authorization', `Bearer ${token}`])
})

test('an endpoint without a credential is opened with nothing to show', () => {
  const connection = sealForTest({ url, key })
  expect(open(vault(), connection).headers).toEqual([])
})

const other = `sha256:${'0'.repeat(64)}`

test.each([
  ['connection', { connectionId: 'con_0123456789abcdefghjkmnpqrs' }, 'seal_other_row'],
  ['revision', { connectionRevision: 2 }, 'seal_other_version'],
  ['scope', { scope: 'project:other' }, 'seal_other_scope'],
  ['credential', { credentialId: 'crd_0123456789abcdefghjkmnpqrs' }, 'seal_other_row'],
  ['credential version', { credentialVersion: 2 }, 'seal_other_version'],
] as const)(
  'a seal of another %s does not open, also when it was opened before',
  (_what, claims, code) => {
    const fresh = vault()
    const connection = sealed()
    expect(() => open(fresh, connection, claims)).toThrow(refuses(code))
    open(fresh, connection)
    expect(() => open(fresh, connection, claims)).toThrow(refuses(code))
  },
)

test('a seal in the place of another column does not open, also when it was opened before', () => {
  const fresh = vault()
  const connection = sealed()
  const moved = { ...connection, credential: connection.endpoint }
  const { endpointDigest: credentialDigest } = connection.claims
  for (const _round of [1, 2]) {
    expect(() => open(fresh, moved, { credentialDigest })).toThrow(refuses('seal_other_column'))
    open(fresh, connection)
  }
})

test('a seal without its end is truncated, one with damage in it unreadable', () => {
  const connection = sealed()
  const { endpoint } = connection
  expect(open(vault(), connection).headers).toHaveLength(2)
  const cut = (text: string) => () =>
    open(vault(), { ...connection, endpoint: text }, { endpointDigest: other })
  expect(cut(endpoint.slice(0, -1))).toThrow(refuses('seal_truncated'))
  expect(cut(endpoint.slice(0, 20))).toThrow(refuses('seal_truncated'))
  expect(cut('')).toThrow(refuses('seal_truncated'))
  expect(cut(`${endpoint.slice(0, -4)}AAAA`)).toThrow(refuses('seal_unreadable'))
})

test.each([
  ['scheme', { endpointClear: { scheme: 'http', host: 'mcp.example.com', port: 443 } }],
  ['host', { endpointClear: { scheme: 'https', host: 'mcp.example.org', port: 443 } }],
  ['port', { endpointClear: { scheme: 'https', host: 'mcp.example.com', port: 8443 } }],
  ['bearer', { credentialClear: { bearer: false, headerNames: ['X-Key'] } }],
  ['header name', { credentialClear: { bearer: true, headerNames: ['X-Other'] } }],
  ['number of headers', { credentialClear: { bearer: true, headerNames: [] } }],
] as const)('a seal whose %s is not what is shown beside it is refused', (_what, claims) => {
  const fresh = vault()
  const connection = sealed({ headers: [{ name: 'X-Key', value: 'key-1234567890' }] })
  expect(() => open(fresh, connection, claims as unknown as Partial<Claims>)).toThrow(
    refuses('seal_mismatch'),
  )
  open(fresh, connection)
  expect(() => open(fresh, connection, claims as unknown as Partial<Claims>)).toThrow(
    refuses('seal_mismatch'),
  )
})

test.each([
  'https://mcp.example.com/v1',
  'https://mcp.example.com/v1/mcp/',
  'https://mcp.example.com:8443/v1/mcp',
  'https://evil.example.com/v1/mcp',
  'http://mcp.example.com/v1/mcp',
])('a credential for %s goes nowhere else', (destination) => {
  const refused = sealed({ destinations: [destination] })
  expect(() => open(vault(), refused)).toThrow(refuses('destination_refused'))
  const allowed = sealed({ destinations: [destination, 'https://mcp.example.com/v1/mcp'] })
  expect(open(vault(), allowed).headers).toHaveLength(2)
})

test('a credential moved to another connection does not open there', () => {
  const mine = sealed()
  const theirs = sealed({ url: 'https://evil.example.com/mcp' })
  const moved = { ...theirs, credential: mine.credential }
  const { credentialId, credentialVersion, credentialDigest } = mine.claims
  const claims = { credentialId, credentialVersion, credentialDigest } as Partial<Claims>
  expect(() => open(vault(), moved, claims)).toThrow(refuses('destination_refused'))
})

test.each([
  ['an empty token', { token: '' }, 'bad_secret'],
  ['a token over 8,192 bytes', { token: 'x'.repeat(8_193) }, 'bad_secret'],
  ['a token with a line end', { token: 'a\r\nx-evil: 1' }, 'bad_secret'],
  ['a header value with a line end', { headers: [{ name: 'X-Key', value: 'a\rb' }] }, 'bad_secret'],
  ['a header we set ourselves', { headers: [{ name: 'Host', value: 'evil' }] }, 'bad_header'],
  ['a header of the protocol', { headers: [{ name: 'Mcp-Name', value: 'evil' }] }, 'bad_header'],
  ['a key of our own', { headers: [{ name: 'idempotency-key', value: '"a"' }] }, 'bad_header'],
  ['a second authorization', { headers: [{ name: 'Authorization', value: 'x' }] }, 'bad_header'],
  ['a header name with a line end', { headers: [{ name: 'X\r\nY', value: 'x' }] }, 'bad_header'],
  [
    'eleven headers',
    { headers: Array.from({ length: 11 }, (_, i) => ({ name: `X-${i}`, value: 'x' })) },
    'bad_header',
  ],
] as const)('%s is refused, whoever sealed it', (_what, secret, code) => {
  expect(() => open(vault(), sealed(secret))).toThrow(refuses(code))
})

test('a token of 8,192 bytes passes', () => {
  expect(open(vault(), sealed({ token: 'x'.repeat(8_192) })).headers).toHaveLength(2)
})

test('a plain http endpoint opens only where local upstreams are allowed', () => {
  const local = sealed({ url: 'http://127.0.0.1:4000/mcp' })
  expect(() => open(vault(), local)).toThrow(refuses('local_upstreams_off'))
  expect(open(vault({ localAllowed: true }), local).endpoint.port).toBe(4000)
})

const sealPlain = (plaintext: unknown, place: SealPlace) => seal(plaintext, place, key)

test.each([
  ['nothing', null],
  ['no URL', {}],
  ['a number', { url: 1 }],
])('an endpoint that holds %s is unreadable', (_what, plaintext) => {
  const { claims } = sealed()
  const { connectionId: id, scope, connectionRevision: version } = claims
  const endpoint = sealPlain(plaintext, { kind: 'endpoint', id, scope, version })
  const forged = { ...claims, endpointDigest: digestBytes(endpoint) } as Claims
  expect(() => vault().open(forged, { endpoint, credential: undefined })).toThrow(
    refuses('seal_unreadable'),
  )
})

test('a URL the rules refuse is refused here too', () => {
  const { claims } = sealed()
  const { connectionId: id, scope, connectionRevision: version } = claims
  for (const bad of [
    'https://user:pass@mcp.example.com/',
    'ftp://mcp.example.com/',
    'https://a/#b',
  ]) {
    const endpoint = sealPlain({ url: bad }, { kind: 'endpoint', id, scope, version })
    const forged = { ...claims, endpointDigest: digestBytes(endpoint) } as Claims
    expect(() => vault().open(forged, { endpoint, credential: undefined })).toThrow(
      refuses('bad_url'),
    )
  }
})

test.each([
  ['no headers', { token, destinations: [] }],
  ['a header that is none', { headers: [null], destinations: [] }],
  ['a token that is none', { token: 1, headers: [], destinations: [] }],
  ['destinations that are none', { headers: [], destinations: [1] }],
  ['nothing', null],
])('a credential that holds %s is unreadable', (_what, plaintext) => {
  const connection = sealed()
  const { credentialId, scope, credentialVersion } = connection.claims
  const place = { kind: 'credential', id: credentialId, scope, version: credentialVersion }
  const credential = sealPlain(plaintext, place as SealPlace)
  const claims = { credentialDigest: digestBytes(credential) } as Partial<Claims>
  expect(() => open(vault(), { ...connection, credential }, claims)).toThrow(
    refuses('seal_unreadable'),
  )
})

test('a seal of another vault says that its key is not here, one to a retired key that it is gone', async () => {
  const foreign = sealed({ key: createVaultKey() })
  expect(() => open(vault(), foreign)).toThrow(refuses('seal_key_unknown'))
  const old = createVaultKey()
  let now = 0
  const ring = new MemorySource(key, old).ring(() => now)
  const fresh = new Vault({ ring, localAllowed: false, monotonic: () => now })
  const connection = sealed({ key: old })
  expect(open(fresh, connection).headers).toHaveLength(2)
  await ring.retire(old.kid)
  fresh.clear()
  now = 20_000
  ring.sweep()
  expect(() => open(fresh, connection)).toThrow(refuses('seal_key_retired'))
  expect(open(fresh, sealed()).headers).toHaveLength(2)
})

const place: SealPlace = { kind: 'credential', id: 'crd_1', scope: 'org', version: 4 }

test('seals again to a key that is held, for the same place, and remembers nothing of it', async () => {
  const source = new MemorySource(key)
  const ring = source.ring()
  const fresh = new Vault({ ring, localAllowed: false, monotonic: () => 0 })
  const before = fresh.seal({ token: 'a secret' }, place)
  await ring.rotate()
  const after = fresh.reseal(before, place, ring.newest.kid)
  expect(readSealHeader(after)).toMatchObject({ kid: ring.newest.kid, sallyport: place })
  expect(openSeal(after, place, [ring.newest])).toEqual({ token: 'a secret' })
  expect(fresh.size).toBe(0)
  const moved = { ...place, id: 'crd_2' }
  expect(() => fresh.reseal(before, moved, ring.newest.kid)).toThrow(refuses('seal_other_row'))
  expect(() => fresh.reseal(before, place, 'nobody')).toThrow(refuses('seal_key_unknown'))
  await ring.retire(key.kid)
  expect(() => fresh.reseal(after, place, key.kid)).toThrow(refuses('seal_key_retired'))
})

test('what is in a webhook, and what is sealed again, is never remembered', () => {
  const fresh = vault()
  const webhook = { kind: 'webhook', id: 'whk_1', scope: 'org', version: 1 } as const
  const secret = { url: 'https://hooks.example.com/', secret: 'A'.repeat(32) }
  const clear = { scheme: 'https', host: 'hooks.example.com', port: 443 } as const
  const claims = { webhookId: 'whk_1', webhookVersion: 1, scope: 'org', endpointClear: clear }
  expect(fresh.openWebhook(claims, seal(secret, webhook, key)).host).toBe('hooks.example.com')
  expect(fresh.size).toBe(0)
})

test('what was opened is remembered for a minute after its last use', () => {
  let now = 0
  const fresh = vault({ monotonic: () => now })
  const connection = sealed()
  open(fresh, connection)
  now = 50_000
  open(fresh, connection)
  now = 109_999
  fresh.sweep()
  expect(fresh.size).toBe(2)
  now = 110_000
  fresh.sweep()
  expect(fresh.size).toBe(0)
})

test('a use is counted to a second, and what is used goes last', () => {
  let now = 0
  const fresh = vault({ monotonic: () => now })
  const [first, second] = [sealed(), sealed()]
  open(fresh, first)
  now = 500
  open(fresh, second)
  now = 2_000
  open(fresh, first)
  now = 60_500
  fresh.sweep()
  expect(fresh.size).toBe(2)
  expect(() => open(fresh, first)).not.toThrow()
})

test('nothing that was opened is kept when it is told to forget', () => {
  const fresh = vault()
  open(fresh, sealed())
  fresh.clear()
  expect(fresh.size).toBe(0)
})

test('remembers 256 openings at most, the last used ones', () => {
  const fresh = vault()
  for (let i = 0; i < 150; i++) open(fresh, sealed())
  expect(fresh.size).toBe(256)
})

test('forgets what is released, and an older version when a newer one is opened', () => {
  const fresh = vault()
  const first = sealed()
  open(fresh, first)
  const { connectionId, credentialId } = first.claims
  open(
    fresh,
    sealed({
      connectionId,
      revision: 2,
      credentialId: credentialId as string,
      credentialVersion: 2,
    }),
  )
  expect(fresh.size).toBe(2)
  open(fresh, sealed())
  fresh.release(connectionId)
  expect(fresh.size).toBe(2)
})
