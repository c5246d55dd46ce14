import type { ExecutionId, InstanceId, SessionId } from '@sallyport/protocol'
import { callerStates, executionStates } from '@sallyport/protocol'
import { describe, expect, test } from 'vitest'
import type { CallerState, Execution, ExecutionState } from '../execution/execution.ts'
import { executionRow } from './execution-row.ts'
import { aSession, aTool } from './samples.ts'
import {
  callerOf,
  collectWithinMs,
  leftBehind,
  type Moment,
  meetOlderTwins,
  meetTwins,
  openTwins,
} from './twins.ts'

const live = 'ins_live' as InstanceId
const gone = 'ins_gone' as InstanceId
const here = aSession().chainId
const elsewhere = 'ses_elsewhere' as SessionId
const now = 10_000_000
const moment: Moment = { now, isLive: (id) => id === live }

let ids = 0
const freshId = (): ExecutionId => `exe_${String(++ids).padStart(6, '0')}` as ExecutionId

/** Of a write: its caller is there, and nothing is decided. */
function aRow(change: Partial<Execution> = {}): Execution {
  const tool = aTool({ access: 'write', mode: 'write_with_approval' })
  const request = { session: aSession(), tool, argumentsText: '{}', callId: 'c', era: 'legacy' }
  const at = { gateway: live, now: now - 3_600_000 }
  const row = executionRow(request as never, freshId(), `sha256:${'1'.repeat(64)}` as never, at)
  return { ...row, state: 'awaiting_approval', ...change }
}

/** Where a caller may be, as it is stored. A lapsed one is stored as attached. */
const callers = {
  attached: { caller: 'attached', callerInstance: live },
  'lapsed, legacy': { caller: 'attached', callerInstance: gone, isModern: false },
  'lapsed, modern': { caller: 'attached', callerInstance: gone, isModern: true },
  'without instance, modern': { caller: 'attached', callerInstance: null, isModern: true },
  detached: { caller: 'detached', callerInstance: live },
  'detached, modern': { caller: 'detached', callerInstance: live, isModern: true },
  'held back': { caller: 'held_back', callerInstance: live, isModern: true },
} as const satisfies Record<string, Partial<Execution>>
type Where = keyof typeof callers

const waiting = ['awaiting_approval', 'approved'] as const
const ended = ['succeeded', 'tool_error', 'refused'] as const

describe('the caller of a row', () => {
  test.each(executionStates)('is where its row says, of one that is %s', (state) => {
    for (const caller of [...callerStates, null])
      for (const isModern of [false, true]) {
        const row = aRow({ state, caller, callerInstance: live, isModern })
        expect(callerOf(row, moment)).toBe(caller)
      }
  })

  test.each(executionStates)(
    'has left when its instance has no lease, of one that is %s',
    (state) => {
      const isBefore = state === 'awaiting_approval' || state === 'approved'
      for (const callerInstance of [gone, null]) {
        const row = aRow({ state, callerInstance })
        expect(callerOf({ ...row, isModern: false }, moment)).toBe('detached')
        expect(callerOf({ ...row, isModern: true }, moment)).toBe(
          isBefore ? 'held_back' : 'detached',
        )
      }
    },
  )

  test('that has left, has the answer, or cannot be come for, stays so without the lease', () => {
    for (const caller of ['detached', 'held_back', 'collected', null] as (CallerState | null)[])
      expect(callerOf(aRow({ caller, callerInstance: gone }), moment)).toBe(caller)
  })
})

/** What an arrival meets when there is one identical execution: of its own chain, and of another. */
type Met = 'none' | 'unknown' | 'resolved' | 'take_over' | 'behind'

function met(change: Partial<Execution>, where: Where): [Met, Met] {
  const twin = aRow({ ...change, ...callers[where] })
  const of = (chainId: SessionId): Met => {
    const { kind, ...rest } = meetTwins([twin], chainId, moment)
    expect(rest).toEqual(kind === 'none' ? {} : { twin })
    return kind as Met
  }
  return [of(here), of(elsewhere)]
}

const all = (expected: [Met, Met]) =>
  Object.fromEntries(Object.keys(callers).map((where) => [where, expected])) as Record<
    Where,
    [Met, Met]
  >

const left: readonly Where[] = (Object.keys(callers) as Where[]).filter((one) => one !== 'attached')

describe('what a call that arrives meets', () => {
  const beforeBarrier: Record<Where, [Met, Met]> = {
    attached: ['behind', 'behind'],
    'lapsed, legacy': ['take_over', 'behind'],
    'lapsed, modern': ['take_over', 'none'],
    'without instance, modern': ['take_over', 'none'],
    detached: ['take_over', 'behind'],
    'detached, modern': ['take_over', 'behind'],
    'held back': ['take_over', 'none'],
  }
  const onItsWay: Record<Where, [Met, Met]> = {
    ...all(['take_over', 'behind']),
    attached: ['behind', 'behind'],
  }
  test.each<[ExecutionState, Record<Where, [Met, Met]>]>([
    ['awaiting_approval', beforeBarrier],
    ['approved', beforeBarrier],
    ['dispatching', onItsWay],
    ['awaiting_answer', onItsWay],
    ['unknown', all(['unknown', 'unknown'])],
    ['resolved', all(['resolved', 'resolved'])],
    ['lost', all(['none', 'none'])],
  ])('one that is %s, wherever its caller is', (state, expected) => {
    const found = Object.keys(callers).map((where) => [where, met({ state }, where as Where)])
    expect(Object.fromEntries(found)).toEqual(expected)
  })

  const outcomes = [
    { state: 'succeeded', code: null },
    { state: 'succeeded', code: 'result_too_large' },
    { state: 'tool_error', code: null },
    { state: 'tool_error', code: 'upstream_error' },
    { state: 'refused', code: 'approval_denied' },
  ] as const
  test.each(outcomes)(
    'a settled one ($state, $code) answers its own session for a quarter of an hour',
    (outcome) => {
      for (const where of left) {
        for (const age of [0, 59_999, 60_000, collectWithinMs - 1])
          expect([where, age, met({ ...outcome, finishedAt: now - age }, where)]).toEqual([
            where,
            age,
            ['take_over', 'none'],
          ])
        for (const age of [collectWithinMs, collectWithinMs * 100])
          expect(met({ ...outcome, finishedAt: now - age }, where)).toEqual(['none', 'none'])
      }
    },
  )

  test.each(outcomes)(
    'a settled one ($state, $code) that is being told is waited for, for a minute',
    (outcome) => {
      for (const age of [0, 59_999])
        expect(met({ ...outcome, finishedAt: now - age }, 'attached')).toEqual(['behind', 'behind'])
      for (const age of [60_000, collectWithinMs])
        expect(met({ ...outcome, finishedAt: now - age }, 'attached')).toEqual(['none', 'none'])
    },
  )

  test.each([
    { state: 'not_sent', code: 'not_sent' },
    { state: 'not_sent', code: 'worker_down' },
    { state: 'refused', code: 'approval_expired' },
    { state: 'refused', code: 'paused' },
    { state: 'refused', code: 'grant_changed' },
  ] as const)(
    'what was not sent ($state, $code) is decided anew, and nothing waits for it',
    (outcome) => {
      for (const where of Object.keys(callers) as Where[])
        for (const age of [0, 60_000])
          expect([where, met({ ...outcome, finishedAt: now - age }, where)]).toEqual([
            where,
            ['none', 'none'],
          ])
    },
  )

  test('nothing, when there is nothing identical', () => {
    expect(meetTwins([], here, moment)).toEqual({ kind: 'none' })
  })

  test('an unknown one before a resolved one, a resolved one before one whose caller has left', () => {
    const [unknown, resolved, detached, present] = [
      aRow({ state: 'unknown' }),
      aRow({ state: 'resolved', caller: 'detached' }),
      aRow({ caller: 'detached' }),
      aRow(),
    ]
    const orders = [
      [present, detached, resolved, unknown],
      [unknown, resolved, detached, present],
    ]
    for (const twins of orders) {
      const some = (...without: Execution[]) => twins.filter((twin) => !without.includes(twin))
      expect(meetTwins(twins, here, moment)).toMatchObject({ kind: 'unknown', twin: unknown })
      expect(meetTwins(some(unknown), here, moment)).toMatchObject({ twin: resolved })
      expect(meetTwins(some(unknown, resolved), here, moment)).toEqual({
        kind: 'take_over',
        twin: detached,
      })
      expect(meetTwins(some(unknown, resolved, detached), here, moment)).toEqual({
        kind: 'behind',
        twin: present,
      })
    }
  })

  test('the oldest of its own chain that may be taken over', () => {
    const old = aRow({ state: 'succeeded', caller: 'detached', finishedAt: now - collectWithinMs })
    const foreign = aRow({ caller: 'detached', chainId: elsewhere })
    const second = aRow({ state: 'succeeded', caller: 'detached', finishedAt: now - 1 })
    const third = aRow({ caller: 'detached' })
    expect(meetTwins([old, foreign, second, third], here, moment)).toMatchObject({ twin: second })
    expect(meetTwins([old, foreign, second, third], elsewhere, moment)).toMatchObject({
      twin: foreign,
    })
  })
})

/** What a row that waits meets, of one older and one younger identical execution. */
describe('what an execution that waits meets', () => {
  const kindOf = (row: Execution, ...others: Execution[]) =>
    meetOlderTwins(
      row,
      [...others, row].sort((a, b) => (a.id < b.id ? -1 : 1)),
      moment,
    ).kind

  test('never itself', () => {
    for (const state of waiting)
      for (const where of Object.keys(callers) as Where[])
        expect(kindOf(aRow({ state, ...callers[where] }))).toBe('none')
  })

  test('an unknown or a resolved one, older or younger than itself', () => {
    for (const state of ['unknown', 'resolved'] as const) {
      const [older, row, younger] = [aRow({ state }), aRow(), aRow({ state })]
      expect(kindOf(row, older)).toBe(state)
      expect(kindOf(row, younger)).toBe(state)
    }
  })

  test.each<[ExecutionState, Partial<Record<Where, string>>]>([
    [
      'awaiting_approval',
      { 'lapsed, modern': 'none', 'without instance, modern': 'none', 'held back': 'none' },
    ],
    [
      'approved',
      { 'lapsed, modern': 'none', 'without instance, modern': 'none', 'held back': 'none' },
    ],
    ['dispatching', {}],
    ['awaiting_answer', {}],
  ])(
    'an older one that is %s goes first, of whatever chain, unless it is held back',
    (state, but) => {
      for (const where of Object.keys(callers) as Where[])
        for (const chainId of [here, elsewhere]) {
          const older = aRow({ state, chainId, ...callers[where] })
          expect([where, kindOf(aRow(), older)]).toEqual([where, but[where] ?? 'behind'])
        }
    },
  )

  test.each([...waiting, 'dispatching', 'awaiting_answer', ...ended, 'not_sent', 'lost'] as const)(
    'a younger one that is %s is nothing to it',
    (state) => {
      for (const where of Object.keys(callers) as Where[]) {
        const row = aRow()
        expect(kindOf(row, aRow({ state, finishedAt: now, ...callers[where] }))).toBe('none')
      }
    },
  )

  const outcome = { state: 'succeeded', code: null, finishedAt: now - 1 } as const

  test('one that it waited for answers it when nobody has that outcome', () => {
    for (const where of left)
      for (const chainId of [here, elsewhere]) {
        const older = aRow({ ...outcome, chainId, ...callers[where] })
        const row = aRow({ notes: { behind: [older.id] } })
        expect(meetOlderTwins(row, [older, row], moment)).toEqual({ kind: 'answered', twin: older })
      }
  })

  test('one that it did not wait for says nothing, whenever that was settled', () => {
    for (const where of left)
      for (const finishedAt of [now - collectWithinMs + 1, now - 1, now]) {
        const older = aRow({ ...outcome, finishedAt, ...callers[where] })
        for (const notes of [{}, { behind: [] }, { behind: [freshId()] }])
          expect(kindOf(aRow({ notes, arrivedAt: finishedAt }), older)).toBe('none')
      }
  })

  test('one that it waited for, and whose outcome is being told, goes first for a minute', () => {
    for (const [age, expected] of [
      [0, 'behind'],
      [59_999, 'behind'],
      [60_000, 'none'],
    ] as const) {
      const older = aRow({ ...outcome, finishedAt: now - age })
      expect(kindOf(aRow({ notes: { behind: [older.id] } }), older)).toBe(expected)
    }
  })

  test('neither an old outcome nor one that says that nothing was sent answers it', () => {
    const some: Partial<Execution>[] = [
      { ...outcome, finishedAt: now - collectWithinMs },
      { state: 'not_sent', code: 'not_sent', finishedAt: now - 1 },
      { state: 'refused', code: 'approval_expired', finishedAt: now - 1 },
    ]
    for (const change of some) {
      const older = aRow({ ...change, caller: 'detached' })
      expect(kindOf(aRow({ notes: { behind: [older.id] } }), older)).toBe('none')
    }
  })

  test('the oldest that it waited for answers it', () => {
    const [first, second] = [
      aRow({ ...outcome, caller: 'detached' }),
      aRow({ ...outcome, caller: 'detached' }),
    ]
    const row = aRow({ notes: { behind: [first.id, second.id] } })
    expect(meetOlderTwins(row, [first, second, row], moment)).toMatchObject({ twin: first })
  })

  test('none answers while an older one has not ended', () => {
    const [first, second] = [
      aRow({ ...outcome, caller: 'detached' }),
      aRow({ state: 'dispatching' }),
    ]
    const row = aRow({ notes: { behind: [first.id, second.id] } })
    expect(meetOlderTwins(row, [first, second, row], moment)).toMatchObject({
      kind: 'behind',
      twin: second,
    })
  })
})

describe('what a row would not be there for, had it been known that its caller had left', () => {
  const open: readonly ExecutionState[] = ['awaiting_approval', 'approved', 'dispatching']

  test('an older one of its chain that it came after, which is not settled and has no caller', () => {
    for (const state of executionStates)
      for (const where of Object.keys(callers) as Where[])
        for (const chainId of [here, elsewhere])
          for (const isKnown of [true, false]) {
            const older = aRow({ state, chainId, finishedAt: now, ...callers[where] })
            const row = aRow({ notes: { behind: isKnown ? [older.id] : [freshId()] } })
            const isMeant =
              open.includes(state) && left.includes(where) && chainId === here && isKnown
            expect([state, where, leftBehind(row, [older, row], moment)]).toEqual([
              state,
              where,
              isMeant ? older : undefined,
            ])
          }
  })

  test('the oldest of them; never a younger one, and never itself', () => {
    const [first, second] = [aRow({ caller: 'detached' }), aRow({ caller: 'detached' })]
    const ids = [first.id, second.id]
    const row = aRow({ caller: 'detached', notes: { behind: ids } })
    expect(leftBehind(row, [first, second, row], moment)).toBe(first)
    const younger = aRow({ caller: 'detached' })
    const strange = aRow({ notes: { behind: [younger.id] } })
    expect(leftBehind({ ...strange, id: row.id }, [row, younger], moment)).toBeUndefined()
    expect(leftBehind({ ...row, notes: { behind: [row.id] } }, [row], moment)).toBeUndefined()
  })
})

test('what a row remembers of those before it: all that are not settled, and those that are being told', () => {
  for (const state of executionStates)
    for (const where of Object.keys(callers) as Where[])
      for (const age of [0, 59_999, 60_000]) {
        const twin = aRow({ state, finishedAt: now - age, ...callers[where] })
        const isTold = where === 'attached' && age < 60_000
        const isMeant =
          ['awaiting_approval', 'approved', 'awaiting_answer', 'dispatching', 'unknown'].includes(
            state,
          ) ||
          (isTold && (state === 'succeeded' || state === 'tool_error'))
        expect([state, where, age, openTwins([twin], moment)]).toEqual([
          state,
          where,
          age,
          isMeant ? [twin.id] : [],
        ])
      }
})
