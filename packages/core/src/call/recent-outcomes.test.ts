import type { ExecutionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import type { CallOutcome } from './ports.ts'
import { RecentOutcomes } from './recent-outcomes.ts'

const outcome = (bytes: number): CallOutcome => ({
  kind: 'result',
  executionId: 'exe_1' as ExecutionId,
  result: Buffer.alloc(bytes),
  isError: false,
})

test('keeps an outcome for a minute', async () => {
  let now = 0
  const recent = new RecentOutcomes(() => now)
  recent.keep('a', 'd', outcome(1))
  now = 59_999
  expect(await recent.get('a')?.outcome).toMatchObject({ executionId: 'exe_1' })
  now = 60_000
  expect(recent.get('a')).toBeUndefined()
})

test('drops the oldest when there are too many, or too many bytes', () => {
  const many = new RecentOutcomes(() => 0)
  for (let n = 0; n < 1001; n++) many.keep(`${n}`, 'd', outcome(1))
  expect(many.get('0')).toBeUndefined()
  expect(many.get('1000')).toBeDefined()

  const big = new RecentOutcomes(() => 0)
  for (let n = 0; n < 5; n++) big.keep(`${n}`, 'd', outcome(4 * 1024 * 1024))
  expect(big.get('0')).toBeUndefined()
  expect(big.get('4')).toBeDefined()
})

test('does not keep what would push everything else out', () => {
  const recent = new RecentOutcomes(() => 0)
  recent.keep('a', 'd', outcome(5 * 1024 * 1024))
  expect(recent.get('a')).toBeUndefined()
})
