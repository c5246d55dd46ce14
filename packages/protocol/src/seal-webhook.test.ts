import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { WebhookId } from './ids.ts'
import { openSeal, thumbprint, type VaultKey } from './seal.ts'
import { newWebhookSecret, sealWebhook, type WebhookToSeal } from './seal-webhook.ts'

function vaultKey(): VaultKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const jwk = { kty: 'OKP', crv: 'X25519', x } as const
  return { kid: thumbprint(jwk), jwk, privateKey }
}

const key = vaultKey()
const secret = Buffer.alloc(24, 7).toString('base64')
const input: WebhookToSeal = {
  url: 'https://Example.com:443/hook?token=secret',
  secret,
  webhookId: 'whk_1' as WebhookId,
  version: 1,
  scope: 'org',
  key,
  localAllowed: false,
}
const place = { kind: 'webhook', id: 'whk_1', scope: 'org', version: 1 } as const

test('seals where it goes and what it is signed with, and shows only where the server is', () => {
  const { seal, clear } = sealWebhook(input)
  expect(clear).toEqual({ scheme: 'https', host: 'example.com', port: 443 })
  expect(openSeal(seal, place, [key])).toEqual({
    url: 'https://example.com/hook?token=secret',
    secret,
  })
  expect(() => openSeal(seal, { ...place, kind: 'endpoint' }, [key])).toThrow()
})

test('what people know the secret by is no part of it', () => {
  const { seal } = sealWebhook({ ...input, secret: `whsec_${secret}` })
  expect(openSeal(seal, place, [key])).toMatchObject({ secret })
})

test('a new secret is 32 random bytes that seal', () => {
  const [one, two] = [newWebhookSecret(), newWebhookSecret()]
  expect(one).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(one).not.toBe(two)
  expect(() => sealWebhook({ ...input, secret: one })).not.toThrow()
})

test('takes plain http toward this machine where it is allowed', () => {
  const local = { ...input, url: 'http://127.0.0.1:9/hook' }
  expect(sealWebhook({ ...local, localAllowed: true }).clear.scheme).toBe('http')
  expect(() => sealWebhook(local)).toThrow(expect.objectContaining({ code: 'bad_url' }))
})

test.each([
  ['bad_url', { url: 'https://user@example.com/' }],
  ['bad_url', { url: 'http://example.com/' }],
  ['bad_secret', { secret: '' }],
  ['bad_secret', { secret: 'whsec_' }],
  ['bad_secret', { secret: 'whsec_ not base64' }],
  ['bad_secret', { secret: Buffer.alloc(23).toString('base64') }],
  ['bad_secret', { secret: Buffer.alloc(65).toString('base64') }],
] as const)('refuses with %s before anything is sealed (%j)', (code, change) => {
  expect(() => sealWebhook({ ...input, ...change })).toThrow(expect.objectContaining({ code }))
})
