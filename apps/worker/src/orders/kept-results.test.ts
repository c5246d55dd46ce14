import { expect, test } from 'vitest'
import { KeptResults } from './kept-results.ts'

const mebibyte = Buffer.alloc(1024 * 1024)

test('keeps a body for two minutes', () => {
  let now = 0
  const results = new KeptResults(() => now)
  const kept = results.keep(Buffer.from('body'))
  now = 119_999
  results.sweep()
  expect(kept.raw?.toString()).toBe('body')
  now = 120_000
  results.sweep()
  expect(kept.raw).toBeUndefined()
  expect(results.bytes).toBe(0)
})

test('keeps 64 MiB in all and drops the oldest beyond', () => {
  const results = new KeptResults(() => 0)
  const all = Array.from({ length: 64 }, () => results.keep(mebibyte))
  expect(all[0]?.raw).toBeDefined()
  results.keep(Buffer.from('x'))
  expect(all[0]?.raw).toBeUndefined()
  expect(all[1]?.raw).toBeDefined()
  expect(results.bytes).toBe(63 * mebibyte.length + 1)
})

test('drops what is settled, in any order, once', () => {
  const results = new KeptResults(() => 0)
  const all = Array.from({ length: 5_000 }, () => results.keep(Buffer.from('12345')))
  for (const kept of [...all, ...all].reverse()) results.drop(kept)
  expect(results.bytes).toBe(0)
  const last = results.keep(Buffer.from('x'))
  results.sweep()
  expect(last.raw?.toString()).toBe('x')
  expect(results.bytes).toBe(1)
})
