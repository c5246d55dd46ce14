import { expect, test } from 'vitest'
import { bisect, judge, quantile, shareOf } from './statistics.ts'

test.each([
  // Published examples of the Wilson score interval.
  [0, 10, 0, 0.2775],
  [5, 10, 0.2366, 0.7634],
  [10, 10, 0.7225, 1],
  [81, 263, 0.2553, 0.3662],
])('the interval of %i of %i goes from %f to %f', (hits, of, low, high) => {
  const share = shareOf(hits, of)
  expect(share.low).toBeCloseTo(low, 4)
  expect(share.high).toBeCloseTo(high, 4)
})

test('no trials say nothing, and hits are a part of the trials', () => {
  expect(shareOf(0, 0)).toMatchObject({ low: 0, high: 1 })
  expect(judge(shareOf(0, 0))).toBe('undecided')
  for (const [hits, of] of [
    [2, 1],
    [-1, 3],
    [0.5, 1],
  ] as const)
    expect(() => shareOf(hits, of)).toThrow(TypeError)
})

test('22 trials without a miss are the fewest that pass', () => {
  expect(judge(shareOf(22, 22))).toBe('passed')
  expect(shareOf(21, 21).low).toBeLessThan(0.85)
  expect(judge(shareOf(21, 21))).toBe('undecided')
})

test('a share that is too small fails once the whole interval is below it, and not before', () => {
  expect(judge(shareOf(94, 100))).toBe('undecided')
  expect(judge(shareOf(85, 100))).toBe('failed')
  expect(judge(shareOf(0, 22))).toBe('failed')
  expect(judge(shareOf(0, 21))).toBe('undecided')
  expect(judge(shareOf(96, 100))).toBe('passed')
})

test('a quantile is one of the values', () => {
  expect(quantile([4, 1, 3, 2], 0.5)).toBe(2)
  expect(quantile([4, 1, 3, 2], 0.95)).toBe(4)
  expect(quantile([7], 0.5)).toBe(7)
  expect(quantile([], 0.5)).toBeUndefined()
})

const range = { from: 60, to: 900, within: 15 }

test.each([60, 61, 300, 353, 899])(
  'the search closes in on a ceiling of %i from both sides',
  async (ceiling) => {
    const found = await bisect(range, async (at) => at <= ceiling)
    const { holds = Number.NaN, breaks = Number.NaN } = found
    expect(holds).toBeLessThanOrEqual(ceiling)
    expect(breaks).toBeGreaterThan(ceiling)
    expect(breaks - holds).toBeLessThanOrEqual(range.within)
    expect(found.probes.length).toBeLessThanOrEqual(8)
    expect(found.probes.every(({ at, held }) => held === at <= ceiling)).toBe(true)
  },
)

test('a ceiling outside the range is told as that, after one end', async () => {
  expect(await bisect(range, async () => true)).toMatchObject({ holds: 900 })
  expect(await bisect(range, async () => true)).not.toHaveProperty('breaks')
  const below = await bisect(range, async () => false)
  expect(below).toEqual({ breaks: 60, probes: [{ at: 60, held: false }] })
})

test.each([
  { from: 2, to: 2, within: 1 },
  { from: 2, to: 4, within: 0 },
])('refuses to search where there is nothing to find', async (nothing) => {
  await expect(bisect(nothing, async () => true)).rejects.toThrow(TypeError)
})
