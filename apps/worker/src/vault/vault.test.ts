import type { SealPlace } from '@sallyport/protocol/node'
import { digestBytes, seal } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
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
  return new Vault({ keys: [key], localAllowed: false, monotonic: () => 0, ...options })
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
  ['connection', { connectionId: 'con_0123456789abcdefghjkmnpqrs' }],
  ['revision', { connectionRevision: 2 }],
  ['scope', { scope: 'project:other' }],
  ['credential', { credentialId: 'crd_0123456789abcdefghjkmnpqrs' }],
  ['credential version', { credentialVersion: 2 }],
] as const)(
  'a seal of another %s does not open, also when it was opened before',
  (_what, claims) => {
    const fresh = vault()
    const connection = sealed()
    expect(() => open(fresh, connection, claims)).toThrow(refuses('seal_unreadable'))
    open(fresh, connection)
    expect(() => open(fresh, connection, claims)).toThrow(refuses('seal_unreadable'))
  },
)

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

test('a seal of another vault, and a damaged one, are unreadable', () => {
  const foreign = sealed({ key: createVaultKey() })
  expect(() => open(vault(), foreign)).toThrow(refuses('seal_unreadable'))
  const connection = sealed()
  const damaged = { ...connection, endpoint: `${connection.endpoint.slice(0, -4)}AAAA` }
  expect(() => open(vault(), damaged, { endpointDigest: other })).toThrow(
    refuses('seal_unreadable'),
  )
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
