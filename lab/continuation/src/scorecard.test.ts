import { expect, test } from 'vitest'
import { worth } from './scorecard.ts'
import { shareOf } from './statistics.ts'

const seen = (change: Partial<Parameters<typeof worth>[0]> = {}) =>
  worth({
    missed: shareOf(0, 400),
    again: shareOf(0, 400),
    addedMs: 100,
    addedShare: 0.05,
    trials: 400,
    ...change,
  })

test('holding is worth it as soon as one of the four costs is surely over its bound', () => {
  expect(seen()).toBe('not worth holding')
  expect(seen({ missed: shareOf(40, 400) })).toBe('worth holding')
  expect(seen({ again: shareOf(20, 400) })).toBe('worth holding')
  expect(seen({ addedMs: 3001 })).toBe('worth holding')
  expect(seen({ addedShare: 0.11 })).toBe('worth holding')
})

test('too few trials, or an interval on both sides of a bound, decide nothing', () => {
  expect(seen({ trials: 21, addedMs: 9000 })).toBe('undecided')
  expect(seen({ missed: shareOf(0, 22), again: shareOf(0, 22), trials: 22 })).toBe('undecided')
  expect(seen({ addedMs: Number.NaN })).toBe('undecided')
})
