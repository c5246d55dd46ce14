/** Each law is broken once, by facts that are otherwise right: a law that finds nothing proves nothing. */
import { describe, expect, test } from 'vitest'
import { endLaws, journalLaws, wordLaws } from './end-laws.ts'
import { historyLaws, momentLaws } from './laws.ts'
import type { ApprovalSeen, EventSeen, Ledger, RowSeen } from './ledger.ts'
import type { Ending } from './write.ts'

const row = (change: Partial<RowSeen> = {}): RowSeen => ({
  id: 'exe_1',
  state: 'succeeded',
  code: null,
  session_id: 'ses_1',
  approval_id: 'apr_1',
  intent_id: 'int_1',
  write_key: 'key',
  barrier_at: 1,
  finished_at: 2,
  result_digest: 'sha256:0',
  sequence: 4,
  caller: 'collected',
  caller_instance: 'ins_1',
  gateway_instance: 'ins_1',
  call_id: 'call',
  arguments_digest: null,
  arrived_at: 0,
  notes: '{}',
  ...change,
})
const approval = (change: Partial<ApprovalSeen> = {}): ApprovalSeen => ({
  id: 'apr_1',
  execution_id: 'exe_1',
  state: 'consumed',
  ...change,
})
const way = (...kinds: string[]): EventSeen[] =>
  kinds.map((kind, at) => ({ kind, execution: 'exe_1', sequence: at + 1 }))
const whole = way('awaiting_approval', 'approved', 'dispatching', 'succeeded')

function ledger(
  rows: RowSeen[] = [row()],
  approvals: ApprovalSeen[] = [approval()],
  events: EventSeen[] = whole,
): Ledger {
  const byId = <T extends { id: string }>(all: T[]) => new Map(all.map((one) => [one.id, one]))
  return { rows: byId(rows), approvals: byId(approvals), events }
}

const effect = { id: 'w', execution: 'exe_1' }
const other = { id: 'exe_2', approval_id: null }

describe('of one moment', () => {
  test('what is right is not found', () => {
    expect(momentLaws(ledger(), [effect])).toEqual([])
  })

  test.each<[string, Ledger]>([
    [
      'consumed without its barrier',
      ledger([row({ state: 'approved', barrier_at: null, intent_id: null })]),
    ],
    ['a barrier that consumed nothing', ledger(undefined, [approval({ state: 'approved' })])],
    [
      'denied, and its row waits',
      ledger(
        [row({ state: 'awaiting_approval', barrier_at: null, intent_id: null })],
        [approval({ state: 'denied' })],
      ),
    ],
    ['an approval without its row', ledger([row({ approval_id: null })])],
    ['a row without its approval', ledger(undefined, [])],
    ['passed without an intent', ledger([row({ intent_id: null })])],
    [
      'two identical ones on their way',
      ledger([row({ state: 'unknown' }), row({ ...other, state: 'dispatching' })]),
    ],
    ['an effect whose row was not sent', ledger([row({ state: 'not_sent' })])],
    [
      'an effect whose row was refused',
      ledger([row({ state: 'refused', approval_id: null, barrier_at: null, intent_id: null })], []),
    ],
    ['an effect without a row', ledger([row({ ...other })], [])],
  ])('%s is found', (_, seen) => {
    expect(momentLaws(seen, [effect])).not.toEqual([])
  })
})

describe('of two moments', () => {
  test('what is right is not found', () => {
    const before = ledger([row({ state: 'unknown' })])
    expect(historyLaws(before, ledger([row({ state: 'resolved', sequence: 5 })]))).toEqual([])
  })

  test.each<[string, Ledger]>([
    ['a row that is gone', ledger([], [])],
    ['a final row with another state', ledger([row({ state: 'unknown', sequence: 5 })])],
    ['a final row with another result', ledger([row({ result_digest: 'sha256:1' })])],
    ['a row that went back', ledger([row({ sequence: 3 })])],
    ['an approval that is used again', ledger(undefined, [approval({ state: 'approved' })])],
    ['an approval that is gone', ledger(undefined, [])],
  ])('%s is found', (_, after) => {
    expect(historyLaws(ledger(), after)).not.toEqual([])
  })
})

describe('of the journal', () => {
  test('what is right is not found, in whatever order pages come', () => {
    expect(journalLaws(ledger(undefined, undefined, whole.toReversed()))).toEqual([])
  })

  test.each<[string, EventSeen[]]>([
    ['a way with a gap', whole.slice(1)],
    ['two barriers', way('dispatching', 'dispatching', 'dispatching', 'succeeded')],
    ['a way out of a final state', way('dispatching', 'not_sent', 'dispatching', 'succeeded')],
    ['an end that the row does not have', way('dispatching', 'claimed', 'claimed', 'unknown')],
    ['a row of which nothing is told', []],
  ])('%s is found', (_, events) => {
    expect(journalLaws(ledger(undefined, undefined, events))).not.toEqual([])
  })
})

describe('of the end', () => {
  const ends = (ending: Ending, effects: number) =>
    endLaws(ledger(), Array(effects).fill(effect), [{ id: 'w', ending }])

  test('what is right is not found', () => {
    expect(ends('done', 1)).toEqual([])
    expect(
      endLaws(ledger([row({ state: 'not_sent' })]), [], [{ id: 'w', ending: 'denied' }]),
    ).toEqual([])
  })

  test.each<[Ending, number]>([
    ['done', 0],
    ['done', 2],
    ['applied', 0],
    ['denied', 1],
    ['not_applied', 1],
    ['abandoned', 2],
    ['gone', 2],
    ['open', 1],
  ])('told as %s with %i effects is found', (ending, effects) => {
    expect(ends(ending, effects)).not.toEqual([])
  })

  test('what is still dispatching is found, and two effects of one write by two executions', () => {
    expect(endLaws(ledger([row({ state: 'dispatching' })]), [], [])).not.toEqual([])
    const twice = ledger([row(), row({ ...other })])
    const effects = [effect, { id: 'w', execution: 'exe_2' }]
    expect(endLaws(twice, effects, [])).toEqual([])
    expect(endLaws(twice, effects, [{ id: 'w', ending: 'done' }])).not.toEqual([])
  })
})

test('a word that was given and is not kept is found', () => {
  const decided = (decision: 'approve' | 'deny') => new Map([['apr_1', decision]])
  expect(wordLaws(ledger(), decided('approve'), [])).toEqual([])
  expect(wordLaws(ledger(), decided('deny'), [])).not.toEqual([])
  expect(
    wordLaws(ledger(undefined, [approval({ state: 'pending' })]), decided('approve'), []),
  ).not.toEqual([])
  expect(wordLaws(ledger([row({ state: 'resolved' })]), new Map(), ['exe_1'])).toEqual([])
  expect(wordLaws(ledger(), new Map(), ['exe_1'])).not.toEqual([])
})
