import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ConnectionId, CredentialId } from './ids.ts'
import { openSeal, thumbprint, type VaultKey } from './seal.ts'
import { type ConnectionToSeal, sealConnection, sealCredential } from './seal-connection.ts'

function vaultKey(): VaultKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const jwk = { kty: 'OKP', crv: 'X25519', x } as const
  return { kid: thumbprint(jwk), jwk, privateKey }
}

const key = vaultKey()
const input: ConnectionToSeal = {
  url: 'https://Example.com:443/mcp/a?key=secret',
  token: 'tok',
  headers: [{ name: 'X-Team', value: 'blue' }],
  connectionId: 'con_1' as ConnectionId,
  credentialId: 'crd_1' as CredentialId,
  scope: 'project:web',
  revision: 3,
  credentialVersion: 2,
  key,
  localAllowed: false,
}

test('seals URL and secret to their own rows and shows only what may be shown', () => {
  const { endpoint, credential } = sealConnection(input)
  expect(endpoint.clear).toEqual({ scheme: 'https', host: 'example.com', port: 443 })
  expect(credential?.clear).toEqual({ bearer: true, headerNames: ['X-Team'] })
  const endpointPlace = { kind: 'endpoint', id: 'con_1', scope: 'project:web', version: 3 } as const
  expect(openSeal(endpoint.seal, endpointPlace, [key])).toEqual({
    url: 'https://example.com/mcp/a?key=secret',
  })
  const place = { kind: 'credential', id: 'crd_1', scope: 'project:web', version: 2 } as const
  expect(openSeal(credential?.seal ?? '', place, [key])).toEqual({
    token: 'tok',
    headers: [{ name: 'X-Team', value: 'blue' }],
    destinations: ['https://example.com/mcp/a'],
  })
})

test('has no credential without token and header', () => {
  expect(sealConnection({ ...input, token: undefined, headers: [] }).credential).toBeUndefined()
})

test.each([
  ['bad_url', { url: 'http://127.0.0.1:9/mcp' }],
  ['bad_url', { url: 'https://user@example.com/' }],
  ['bad_secret', { token: '' }],
  ['bad_secret', { token: 'a\rb' }],
  ['bad_secret', { token: 'x'.repeat(8193) }],
  ['bad_secret', { headers: [{ name: 'X-Team', value: 'a\nb' }] }],
  ['bad_header', { headers: [{ name: 'Authorization', value: 'a' }] }],
  ['bad_header', { headers: [{ name: 'Mcp-Session-Id', value: 'a' }] }],
  ['bad_header', { headers: [{ name: 'Idempotency-Key', value: '"a"' }] }],
] as const)('refuses with %s before anything is sealed (%j)', (code, change) => {
  const attempt = { ...input, ...change }
  expect(() => sealConnection(attempt)).toThrow(expect.objectContaining({ code }))
  expect(() => sealCredential(attempt)).toThrow(expect.objectContaining({ code }))
})

test('takes plain http toward this machine where it is allowed', () => {
  const { endpoint } = sealConnection({
    ...input,
    url: 'http://127.0.0.1:9/mcp',
    localAllowed: true,
  })
  expect(endpoint.clear).toEqual({ scheme: 'http', host: '127.0.0.1', port: 9 })
})
