import { generateKeyPairSync, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { CompactEncrypt, compactDecrypt, importJWK } from 'jose'
import { expect, test } from 'vitest'
import { openSeal, reseal, seal, thumbprint, type VaultKey } from './seal.ts'
import { readSealHeader, type SealPlace } from './seal-header.ts'

function vaultKey(kid: string): VaultKey {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  return { kid, jwk: { kty: 'OKP', crv: 'X25519', x }, privateKey }
}

const key = vaultKey('k1')
const place: SealPlace = { kind: 'credential', id: 'crd_1', scope: 'org', version: 3 }
const secret = { token: 'tøp', headers: [], destinations: ['https://example.com/mcp'] }
const refused = (code: string) => expect.objectContaining({ code })
const unreadable = refused('seal_unreadable')

test('opens what was sealed, whatever it is', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (plaintext) => {
      const text = JSON.parse(JSON.stringify(plaintext))
      expect(openSeal(seal(plaintext, place, key), place, [vaultKey('k0'), key])).toEqual(text)
    }),
    { numRuns: 30 },
  )
})

test('two seals of one secret share nothing', () => {
  const [one = '', two = ''] = [seal(secret, place, key), seal(secret, place, key)]
  const parts = two.split('.')
  for (const part of one.split('.').filter((part) => part !== '')) expect(parts).not.toContain(part)
})

test('jose opens ours', async () => {
  const { plaintext, protectedHeader } = await compactDecrypt(
    seal(secret, place, key),
    key.privateKey,
  )
  expect(JSON.parse(new TextDecoder().decode(plaintext))).toEqual(secret)
  expect(protectedHeader).toMatchObject({
    alg: 'ECDH-ES',
    enc: 'A256GCM',
    kid: 'k1',
    sallyport: place,
  })
})

const joseSeal = async (header: Record<string, unknown>, apu?: Uint8Array): Promise<string> => {
  const encrypt = new CompactEncrypt(new TextEncoder().encode(JSON.stringify(secret)))
  encrypt.setProtectedHeader({
    alg: 'ECDH-ES',
    enc: 'A256GCM',
    kid: 'k1',
    sallyport: place,
    ...header,
  })
  if (apu) encrypt.setKeyManagementParameters({ apu })
  return encrypt.encrypt(await importJWK(key.jwk, 'ECDH-ES'))
}

test("ours opens jose's, wherever the place stands in its header", async () => {
  expect(openSeal(await joseSeal({}), place, [key])).toEqual(secret)
})

test('a seal with more in its header than we understand does not open', async () => {
  for (const header of [{ cty: 'json' }, { zip: undefined, typ: 'JWE' }])
    expect(() => openSeal(sealWith(header), place, [key])).toThrow(unreadable)
  const withParty = await joseSeal({}, new TextEncoder().encode('Alice'))
  expect(() => openSeal(withParty, place, [key])).toThrow(unreadable)
  function sealWith(more: Record<string, unknown>): string {
    const [header = '', ...rest] = seal(secret, place, key).split('.')
    const members = JSON.parse(Buffer.from(header, 'base64url').toString())
    return [
      Buffer.from(JSON.stringify({ ...members, ...more })).toString('base64url'),
      ...rest,
    ].join('.')
  }
})

test.each<[string, Partial<SealPlace>, string]>([
  ['row', { id: 'crd_2' }, 'seal_other_row'],
  ['column', { kind: 'endpoint' }, 'seal_other_column'],
  ['column of another row', { kind: 'endpoint', id: 'con_1' }, 'seal_other_column'],
  ['scope', { scope: 'personal:usr_1' }, 'seal_other_scope'],
  ['older version', { version: 2 }, 'seal_other_version'],
  ['newer version', { version: 4 }, 'seal_other_version'],
])('a seal does not open in another %s', (_name, change, code) => {
  const text = seal(secret, place, key)
  expect(openSeal(text, place, [key])).toEqual(secret)
  expect(() => openSeal(text, { ...place, ...change }, [key])).toThrow(refused(code))
  expect(() => reseal(text, { ...place, ...change }, key, [key])).toThrow(refused(code))
})

test('a place with more in it than ours is none', () => {
  const wide = { ...place, also: 'this' } as SealPlace
  expect(openSeal(seal(secret, wide, key), wide, [key])).toEqual(secret)
  expect(() => openSeal(seal(secret, wide, key), place, [key])).toThrow(unreadable)
})

test('a seal that lost its end, wherever it was cut, is truncated', () => {
  const text = seal(secret, place, key)
  expect(openSeal(text, place, [key])).toEqual(secret)
  for (let length = 0; length < text.length; length++)
    expect(() => openSeal(text.slice(0, length), place, [key]), String(length)).toThrow(
      refused('seal_truncated'),
    )
})

test('a seal whose header was rewritten to another place does not open there', () => {
  const [header = '', ...rest] = seal(secret, place, key).split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString())
  const moved = { ...place, id: 'crd_2' }
  const text = Buffer.from(JSON.stringify({ ...members, sallyport: moved })).toString('base64url')
  expect(() => openSeal([text, ...rest].join('.'), moved, [key])).toThrow(unreadable)
})

test('a seal to a key that is gone says so, and one to a key nobody had', () => {
  const text = seal(secret, place, key)
  const retired = new Set(['k1'])
  expect(openSeal(text, place, [key], retired)).toEqual(secret)
  expect(() => openSeal(text, place, [vaultKey('k2')], retired)).toThrow(
    refused('seal_key_retired'),
  )
  expect(() => openSeal(text, place, [vaultKey('k2')])).toThrow(refused('seal_key_unknown'))
  const moved = { ...place, id: 'crd_2' }
  expect(() => openSeal(text, moved, [], retired)).toThrow(refused('seal_other_row'))
})

test('a seal that is sealed again opens in the same place, with the other key alone', () => {
  const next = vaultKey('k2')
  const [before, retired] = [seal(secret, place, key), new Set(['k1'])]
  const after = reseal(before, place, next, [next, key])
  expect(readSealHeader(after)).toMatchObject({ kid: 'k2', sallyport: place })
  expect(openSeal(after, place, [next])).toEqual(secret)
  expect(() => openSeal(after, place, [key])).toThrow(refused('seal_key_unknown'))
  expect(() => reseal(before, place, next, [next], retired)).toThrow(refused('seal_key_retired'))
})

test('what is sealed again keeps its bytes, whatever JSON they are', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (plaintext) => {
      const again = reseal(seal(plaintext, place, key), place, key, [key])
      expect(openSeal(again, place, [key])).toEqual(JSON.parse(JSON.stringify(plaintext)))
    }),
    { numRuns: 30 },
  )
})

test('a seal does not open with another key of the same name, nor without its key', () => {
  const text = seal(secret, place, key)
  expect(() => openSeal(text, place, [vaultKey('k1')])).toThrow(unreadable)
  expect(() => openSeal(text, place, [])).toThrow(refused('seal_key_unknown'))
})

test('damage anywhere is noticed', () => {
  const codes = [
    'seal_unreadable',
    'seal_truncated',
    'seal_other_column',
    'seal_other_row',
    'seal_other_scope',
    'seal_other_version',
    'seal_key_unknown',
  ]
  const text = seal(secret, place, key)
  const whole = text
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('hex'))
    .join()
  fc.assert(
    fc.property(fc.nat(text.length - 1), fc.constantFrom('A', 'z', '_', '.', ''), (at, char) => {
      const changed = text.slice(0, at) + char + text.slice(at + 1)
      const parts = changed.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
      if (parts.join() === whole) return
      expect(() => openSeal(changed, place, [key])).toThrow(
        expect.objectContaining({ code: expect.toBeOneOf(codes) }),
      )
    }),
  )
})

const headerOf = (value: unknown): string =>
  `${Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')}..a.a.${'a'.repeat(22)}`
const members = { alg: 'ECDH-ES', enc: 'A256GCM', kid: 'k1', epk: key.jwk, sallyport: place }

test.each([
  ['no JSON', headerOf('{')],
  ['null', headerOf(null)],
  ['a list', headerOf([])],
  ['another algorithm', headerOf({ ...members, alg: 'dir' })],
  ['another cipher', headerOf({ ...members, enc: 'A128GCM' })],
  ['no key of the sender', headerOf({ ...members, epk: undefined })],
  [
    'a key of another curve',
    headerOf({ ...members, epk: { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' } }),
  ],
  ['the point of order one', headerOf({ ...members, epk: { ...key.jwk, x: 'A'.repeat(43) } })],
  [
    'nesting without end',
    headerOf(
      `{"sallyport":${'['.repeat(1e5)}${']'.repeat(1e5)},"alg":"ECDH-ES","enc":"A256GCM","kid":"k1","epk":1}`,
    ),
  ],
  ['half a pair', headerOf({ ...members, sallyport: { id: '\ud800' } })],
])('does not open a seal with %s in its header', (_name, text) => {
  expect(() => openSeal(text, place, [key])).toThrow(unreadable)
})

test('the header is read without a key', () => {
  expect(readSealHeader(seal(secret, place, key))).toMatchObject({ kid: 'k1', sallyport: place })
  expect(() => readSealHeader(headerOf('x'))).toThrow(unreadable)
  expect(() => readSealHeader('x')).toThrow(refused('seal_truncated'))
})

test('a key id is the thumbprint of RFC 7638', async () => {
  const { calculateJwkThumbprint } = await import('jose')
  const jwk = { kty: 'OKP', crv: 'X25519', x: randomBytes(32).toString('base64url') } as const
  expect(thumbprint(jwk)).toBe(await calculateJwkThumbprint(jwk))
})
