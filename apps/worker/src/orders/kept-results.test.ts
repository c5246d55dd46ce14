import { expect, test } from 'vitest'
import { KeptResults } from './kept-results.ts'

const mebibyte = Buffer.alloc(1024 * 1024)

test('keeps a body for two minutes', () => {
  let now = 0
  const kept = new KeptResults(() => now)
  kept.add('a', Buffer.from('body'))
  now = 119_999
  kept.sweep()
  expect(kept.find('a')?.toString()).toBe('body')
  now = 120_000
  kept.sweep()
  expect(kept.find('a')).toBeUndefined()
  expect(kept.bytes).toBe(0)
})

test('keeps 64 MiB in all and drops the oldest beyond', () => {
  const kept = new KeptResults(() => 0)
  for (let i = 0; i < 64; i++) kept.add(`r${i}`, mebibyte)
  expect(kept.find('r0')).toBeDefined()
  kept.add('r64', Buffer.from('x'))
  expect(kept.find('r0')).toBeUndefined()
  expect(kept.find('r1')).toBeDefined()
  expect(kept.bytes).toBe(63 * mebibyte.length + 1)
})

test('drops what is settled, and what it does not have', () => {
  const kept = new KeptResults(() => 0)
  kept.add('a', mebibyte)
  kept.drop('a')
  kept.drop('b')
  expect(kept.bytes).toBe(0)
})
