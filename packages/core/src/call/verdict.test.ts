import type { ResultHead } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { outcomeOf } from './verdict.ts'

const head = (more: Partial<ResultHead>): ResultHead => ({
  intent: 'int_1',
  verdict: 'result',
  ...more,
})

test.each([
  ['a result', {}, 'succeeded', null],
  ['an error result of the tool', { isError: true }, 'tool_error', null],
  ['a JSON-RPC error', { rpcError: true }, 'tool_error', 'upstream_error'],
  ['HTTP 401', { code: 'upstream_unauthorized' }, 'tool_error', 'upstream_unauthorized'],
  ['a question of the upstream', { code: 'input_required' }, 'tool_error', 'input_required'],
  ['a result over the limit', { code: 'result_too_large' }, 'succeeded', 'result_too_large'],
  [
    'a result with the credential',
    { code: 'credential_in_result' },
    'succeeded',
    'credential_in_result',
  ],
  [
    'an error result with the credential',
    { code: 'credential_in_result', isError: true },
    'tool_error',
    'credential_in_result',
  ],
] as const)('%s is a known outcome, for reads and writes alike', (_what, more, state, code) => {
  expect(outcomeOf(head(more), 'read')).toEqual({ state, code })
  expect(outcomeOf(head(more), 'write')).toEqual({ state, code })
})

test('what was proved not sent keeps its reason', () => {
  const notSent = head({ verdict: 'not_sent', code: 'tool_changed' })
  expect(outcomeOf(notSent, 'write')).toEqual({ state: 'not_sent', code: 'tool_changed' })
})

test('uncertainty makes a write unknown and a read lost', () => {
  const uncertain = head({ verdict: 'uncertain', code: 'upstream_timeout' })
  expect(outcomeOf(uncertain, 'write')).toEqual({ state: 'unknown', code: 'outcome_unknown' })
  expect(outcomeOf(uncertain, 'read')).toEqual({ state: 'lost', code: 'outcome_lost' })
})

test('a verdict of no known kind counts as uncertain', () => {
  const strange = head({ verdict: 'perhaps' as never })
  expect(outcomeOf(strange, 'write')).toEqual({ state: 'unknown', code: 'outcome_unknown' })
})
