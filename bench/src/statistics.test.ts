import { expect, test } from 'vitest'
import { percentile, spread } from './statistics.ts'

test('the median of an even number of values is between the middle two', () => {
  expect(spread([4, 1, 3, 2])).toEqual({ median: 2.5, low: 1, high: 4 })
  expect(spread([5, 1, 3])).toEqual({ median: 3, low: 1, high: 5 })
})

test('percentiles count from the smallest', () => {
  const values = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect(percentile(values, 0.5)).toBe(51)
  expect(percentile(values, 0.99)).toBe(100)
})
