import { expect, test } from 'vitest'
import { digestBytes } from './digest.ts'
import { anyIntentSchema } from './intent.ts'

const digest = digestBytes('x')
const claims = { v: 1, id: 'int_4', iat: 1, exp: 2, startWithin: 15_000, aud: 'ins_1' }
const reseal = {
  ...claims,
  act: 'reseal',
  kind: 'credential',
  rowId: 'crd_1',
  scope: 'org',
  version: 3,
  toKid: 'k2',
  argumentsDigest: digest,
}
const retire = { ...claims, act: 'retire', kid: 'k1' }

test('takes the orders about the vault', () => {
  for (const order of [
    reseal,
    retire,
    { ...claims, act: 'keys' },
    { ...claims, act: 'rotate' },
    ...['endpoint', 'webhook', 'oauth_client', 'oauth_pending'].map((kind) => ({
      ...reseal,
      kind,
    })),
  ])
    expect(anyIntentSchema.parse(order)).toEqual(order)
})

test.each<[string, Record<string, unknown>]>([
  ['to seal again without a seal', { ...reseal, argumentsDigest: undefined }],
  ['to seal again what has no place', { ...reseal, rowId: undefined }],
  ['to seal again in another version than a row can have', { ...reseal, version: 0 }],
  ['to seal again to no key', { ...reseal, toKid: undefined }],
  ['to seal again for a kind nobody knows', { ...reseal, kind: 'other' }],
  ['to seal again, and more', { ...reseal, connectionId: 'con_1' }],
  ['to retire no key', { ...retire, kid: undefined }],
  ['to rotate to a key of the gateway', { ...claims, act: 'rotate', kid: 'k1' }],
])('refuses an order %s', (_what, order) => {
  expect(anyIntentSchema.safeParse(order).success).toBe(false)
})
