import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import { openSeal, type VaultKey } from './seal.ts'
import { type OAuthClientToSeal, sealOAuthClient } from './seal-oauth-client.ts'

const { privateKey, publicKey } = generateKeyPairSync('x25519')
const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
const key: VaultKey = { kid: 'k1', jwk: { kty: 'OKP', crv: 'X25519', x }, privateKey }
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'pkcs8', format: 'pem' })
  .toString()

const input: OAuthClientToSeal = {
  client: { clientId: 'sallyport', clientSecret: 's3cret' },
  issuer: 'https://login.example.com/tenant1',
  urls: ['https://MCP.example.com/mcp?key=1'],
  id: 'oac_1',
  version: 2,
  scope: 'org',
  key,
  localAllowed: false,
}

test('a client is sealed for its row, with where it may go', () => {
  const { seal, ...row } = sealOAuthClient(input)
  expect(row).toEqual({
    id: 'oac_1',
    scope: 'org',
    version: 2,
    issuer: 'https://login.example.com/tenant1',
  })
  const place = { kind: 'oauth_client', id: 'oac_1', scope: 'org', version: 2 } as const
  expect(openSeal(seal, place, [key])).toEqual({
    client: input.client,
    issuer: input.issuer,
    destinations: ['https://mcp.example.com/mcp'],
  })
  expect(() => openSeal(seal, { ...place, kind: 'credential' }, [key])).toThrow(
    expect.objectContaining({ code: 'seal_other_column' }),
  )
})

test.each([
  ['a client that is public', { client: { clientId: 'c', authMethod: 'none' } }],
  ['a key', { client: { clientId: 'c', privateKeyPem: pem, authMethod: 'private_key_jwt' } }],
  ['no issuer, but a server', { issuer: undefined }],
  ['no server, but an issuer', { urls: [] }],
] as const)('takes %s', (_what, change) => {
  expect(sealOAuthClient({ ...input, ...change } as OAuthClientToSeal).seal).toMatch(/^ey/)
})

test.each([
  ['bad_secret', 'clientId', { client: { clientId: '' } }],
  ['bad_secret', 'clientId', { client: { clientId: 'a\nb' } }],
  ['bad_secret', 'clientSecret', { client: { clientId: 'c', clientSecret: 'x'.repeat(8_193) } }],
  ['bad_secret', 'clientSecret', { client: { clientId: 'c', authMethod: 'client_secret_post' } }],
  ['bad_secret', 'privateKeyPem', { client: { clientId: 'c', authMethod: 'private_key_jwt' } }],
  ['bad_secret', 'privateKeyPem', { client: { clientId: 'c', privateKeyPem: 'key' } }],
  ['bad_url', 'url', { issuer: 'http://login.example.com' }],
  ['bad_url', 'url', { urls: ['https://user@mcp.example.com/mcp'] }],
  ['bad_request', undefined, { issuer: undefined, urls: [] }],
] as const)('refuses with %s (%s) before anything is sealed: %j', (code, field, change) => {
  expect(() => sealOAuthClient({ ...input, ...change } as OAuthClientToSeal)).toThrow(
    expect.objectContaining({ code, ...(field ? { field } : {}) }),
  )
})
