import type { ExecutionId, SessionId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { LiveCalls } from './live-calls.ts'
import type { CallOutcome } from './ports.ts'

const id = 'exe_1' as ExecutionId
const session = 'ses_1' as SessionId
const result: CallOutcome = {
  kind: 'result',
  executionId: id,
  result: Buffer.from('{}'),
  isError: false,
}

test.each([
  ['an id that somebody has', {}, result],
  ['an id of ours, which nobody can come with again,', { isOnce: true }, undefined],
])('with %s the outcome is kept or not', async (_, more, kept) => {
  const calls = new LiveCalls(() => 0)
  const { promise: outcome, resolve } = Promise.withResolvers<CallOutcome>()
  calls.keep(session, 'call', { digest: 'd', id, outcome, ...more })
  // In flight it is counted and found all the same.
  expect(calls.size).toBe(1)
  expect(calls.find(session, 'call')?.digest).toBe('d')
  resolve(result)
  await calls.settled(1_000)
  expect(calls.size).toBe(0)
  expect(await calls.find(session, 'call')?.outcome).toBe(kept)
})
