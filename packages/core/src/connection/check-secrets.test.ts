import { generateKeyPairSync } from 'node:crypto'
import type { ConnectionId, CredentialId } from '@sallyport/protocol'
import { sealConnection } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { checkCredential, checkEndpoint, type Destinations } from './check-secrets.ts'
import type { Scope } from './connection.ts'

const { x } = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }) as { x: string }
const key = { kid: 'k', jwk: { kty: 'OKP', crv: 'X25519', x } } as const
const id = 'con_1' as ConnectionId
const scope = 'org' as Scope
const strict: Destinations = { localAllowed: false, isOwn: () => false }
const local: Destinations = { localAllowed: true, isOwn: ({ port }) => port === 7400 }

function sealed(url = 'https://example.com/mcp') {
  const { endpoint, credential } = sealConnection({
    url,
    token: 't',
    headers: [],
    connectionId: id,
    credentialId: 'crd_1' as CredentialId,
    scope,
    revision: 2,
    credentialVersion: 3,
    key,
    localAllowed: true,
  })
  if (!credential) throw new Error('a token was given')
  return { endpoint, credential }
}

test('takes seals that are for this row', () => {
  const { endpoint, credential } = sealed()
  checkEndpoint(endpoint, { id, scope, revision: 2 }, strict)
  checkCredential(credential, scope, 3)
})

test.each([
  ['another connection', { id: 'con_2' as ConnectionId, scope, revision: 2 }, 'seal_other_row'],
  ['another scope', { id, scope: 'project:a' as Scope, revision: 2 }, 'seal_other_scope'],
  ['another revision', { id, scope, revision: 3 }, 'conflict'],
])('refuses an endpoint sealed for %s', (_, row, code) => {
  expect(() => checkEndpoint(sealed().endpoint, row, strict)).toThrow(
    expect.objectContaining({ code }),
  )
})

test('refuses a credential sealed for another scope, version or kind of row', () => {
  const { endpoint, credential } = sealed()
  const refusedWith = (code: string, seal: string, inScope: string, version: number) =>
    expect(() => checkCredential({ ...credential, seal }, inScope as Scope, version)).toThrow(
      expect.objectContaining({ code }),
    )
  refusedWith('seal_other_scope', credential.seal, 'project:a', 3)
  refusedWith('conflict', credential.seal, 'org', 4)
  refusedWith('seal_other_column', endpoint.seal, 'org', 3)
  refusedWith('seal_truncated', 'no seal', 'org', 3)
  refusedWith('seal_unreadable', `no${credential.seal}`, 'org', 3)
})

test.each([
  ['http toward this machine', 'http', '127.0.0.1', 9000, strict],
  ['http toward another machine', 'http', 'example.com', 9000, local],
  ['one of our own listeners', 'http', '127.0.0.1', 7400, local],
  ['a host with a path in it', 'https', 'example.com/x', 443, strict],
  ['a host with a user in it', 'https', 'user@example.com', 443, strict],
  ['a host that is not normalized', 'https', 'EXAMPLE.com', 443, strict],
  ['a port that is none', 'https', 'example.com', 70_000, strict],
] as const)('refuses %s beside a seal', (_, scheme, host, port, destinations) => {
  const given = { seal: sealed().endpoint.seal, clear: { scheme, host, port } }
  expect(() => checkEndpoint(given, { id, scope, revision: 2 }, destinations)).toThrow(
    expect.objectContaining({ code: 'bad_url' }),
  )
})

test('takes http toward this machine where it is allowed', () => {
  const { endpoint } = sealed('http://127.0.0.1:9000/mcp')
  checkEndpoint(endpoint, { id, scope, revision: 2 }, local)
})

test('refuses header names that Sallyport sets itself, and a credential of nothing', () => {
  const { credential } = sealed()
  const clear = (headerNames: string[], bearer = false) => ({
    ...credential,
    clear: { bearer, headerNames },
  })
  for (const given of [clear(['Host']), clear(['Authorization'], true), clear(['X-A', 'x-a'])])
    expect(() => checkCredential(given, scope, 3)).toThrow(
      expect.objectContaining({ code: 'bad_header' }),
    )
  expect(() => checkCredential(clear([]), scope, 3)).toThrow(
    expect.objectContaining({ code: 'bad_secret' }),
  )
  checkCredential(clear(['Authorization']), scope, 3)
})
