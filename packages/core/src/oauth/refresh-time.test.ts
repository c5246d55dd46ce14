import { randomBytes } from 'node:crypto'
import { idSource } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { Credential } from '../credential/credential.ts'
import { refreshAt } from './refresh-time.ts'

const ids = idSource(() => 0, randomBytes)
const made = 1_000_000_000_000
const minute = 60_000

function credential(lifeMs: number, given: Partial<Credential> = {}): Credential {
  const oauth = { issuerHost: 'login.example', refreshable: true, expiresAt: made + lifeMs }
  return {
    ...{ id: ids('credential'), connectionId: ids('connection'), version: 1, state: 'active' },
    ...{ seal: '', clear: { bearer: true, headerNames: [], oauth }, createdAt: made },
    ...{ updatedAt: made, ...given },
  }
}

const aheadOf = (one: Credential, lifeMs: number) => made + lifeMs - (refreshAt(one) ?? Number.NaN)

test.each([
  ['an hour: ten minutes at most', 60 * minute, 5 * minute, 10 * minute],
  ['ten minutes: the last fifth', 10 * minute, minute, 2 * minute],
  ['a second', 1_000, 100, 200],
])('of %s', (_what, lifeMs, least, most) => {
  const aheads = Array.from({ length: 500 }, () => aheadOf(credential(lifeMs), lifeMs))
  expect(Math.min(...aheads)).toBeGreaterThanOrEqual(least)
  expect(Math.max(...aheads)).toBeLessThanOrEqual(most)
})

test('those that were made together are spread over all of it', () => {
  const aheads = Array.from({ length: 1_000 }, () => aheadOf(credential(60 * minute), 60 * minute))
  for (let from = 5; from < 10; from++) {
    const within = aheads.filter((ms) => ms >= from * minute && ms < (from + 1) * minute)
    expect(within.length).toBeGreaterThan(100)
  }
})

test('it is one moment however often it is looked at, and another for the next version', () => {
  const one = credential(60 * minute)
  expect(refreshAt(one)).toBe(refreshAt({ ...one }))
  expect(refreshAt(one)).not.toBe(refreshAt({ ...one, version: 2 }))
})

test('what is broken, revoked, not refreshable or without an end is not refreshed ahead', () => {
  const one = credential(minute)
  expect(refreshAt(one)).toBeTypeOf('number')
  for (const state of ['broken', 'revoked'] as const)
    expect(refreshAt({ ...one, state })).toBeUndefined()
  const { oauth } = one.clear
  if (!oauth) throw new Error('no OAuth')
  const { expiresAt, ...endless } = oauth
  for (const changed of [{ ...oauth, refreshable: false }, endless, undefined]) {
    const clear = { bearer: true, headerNames: [], ...(changed ? { oauth: changed } : {}) }
    expect(refreshAt({ ...one, clear })).toBeUndefined()
  }
  expect(expiresAt).toBe(made + minute)
})
