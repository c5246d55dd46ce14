import { generateKeyPairSync } from 'node:crypto'
import fc from 'fast-check'
import { CompactSign, compactVerify } from 'jose'
import { expect, test } from 'vitest'
import { signJws, verifyJws } from './jws.ts'

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const other = generateKeyPairSync('ed25519')
const payload = 'sha256:aa\nsha256:bb'

test('gives back what was signed', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (text, kid) => {
      expect(verifyJws(signJws(text, kid, privateKey), kid, publicKey)).toBe(text)
    }),
    { numRuns: 50 },
  )
})

test('jose verifies ours', async () => {
  const { payload: bytes, protectedHeader } = await compactVerify(
    signJws(payload, 'k1', privateKey),
    publicKey,
  )
  expect(new TextDecoder().decode(bytes)).toBe(payload)
  expect(protectedHeader).toEqual({ alg: 'EdDSA', kid: 'k1' })
})

test("ours verifies jose's, byte for byte the same text", async () => {
  const jws = await new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'EdDSA', kid: 'k1' })
    .sign(privateKey)
  expect(verifyJws(jws, 'k1', publicKey)).toBe(payload)
  expect(signJws(payload, 'k1', privateKey)).toBe(jws)
})

const valid = signJws(payload, 'k1', privateKey)
const [header = '', body = '', signature = ''] = valid.split('.')
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

test.each([
  ['another payload', `${header}.${Buffer.from('x').toString('base64url')}.${signature}`],
  ['another algorithm', `${encode({ alg: 'none', kid: 'k1' })}.${body}.`],
  ['more header', `${encode({ alg: 'EdDSA', kid: 'k1', crit: ['x'] })}.${body}.${signature}`],
  ['no signature', `${header}.${body}.`],
  ['a part more', `${valid}.${signature}`],
  ['a part less', `${header}.${body}`],
  ['a cut signature', valid.slice(0, -4)],
  ['nothing', ''],
])('gives nothing back for %s', (_name, jws) => {
  expect(verifyJws(valid, 'k1', publicKey)).toBe(payload)
  expect(verifyJws(jws, 'k1', publicKey)).toBeUndefined()
})

test('gives nothing back for another key or another key id', () => {
  expect(verifyJws(valid, 'k1', other.publicKey)).toBeUndefined()
  expect(verifyJws(valid, 'k2', publicKey)).toBeUndefined()
})

test('gives nothing back for a key of another kind, even when its own signature is right', () => {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  expect(verifyJws(signJws(payload, 'k1', pair.privateKey), 'k1', pair.publicKey)).toBeUndefined()
})

test('a flipped bit anywhere is noticed', () => {
  fc.assert(
    fc.property(fc.nat(valid.length - 1), fc.constantFrom('A', 'z', '9', '_'), (at, char) => {
      const changed = valid.slice(0, at) + char + valid.slice(at + 1)
      const same = changed.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
      const before = valid.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex'))
      if (same.join() === before.join() && changed.split('.').length === 3) return
      expect(verifyJws(changed, 'k1', publicKey)).toBeUndefined()
    }),
  )
})
