import type { Execution, Settlement, Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleExecution, exampleInstance, exampleWaiting, newId, start } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

const success = (id: Settlement['id'], given: Partial<Settlement> = {}): Settlement => ({
  id,
  from: ['dispatching'],
  state: 'succeeded',
  finishedAt: start + 9,
  ...given,
})

export function outcomesContract(subject: GetSubject): void {
  test('writes an outcome and leaves out what it does not say', async () => {
    const { store } = subject()
    const row = exampleExecution({ code: 'outcome_unknown', notes: { a: 1, b: { c: 2 } } })
    await insertExecutions(store, row)
    const moved = await store.transact((tx) => tx.executions.settle([success(row.id)]))
    expect(moved).toEqual([2])
    const settled = { ...row, state: 'succeeded', finishedAt: start + 9, sequence: 2 }
    expect(await store.executions.get(row.id)).toEqual(settled)
  })

  test('writes all of an outcome, and merges notes', async () => {
    const { store } = subject()
    const row = exampleExecution({ code: 'expired', notes: { a: 1, b: { c: 2 } } })
    await insertExecutions(store, row)
    const outcome = { code: null, resultDigest: 'sha256:r', resultBytes: 7, tookMs: 0.5 }
    const notes = { b: { d: 3 }, e: null }
    await store.transact((tx) => tx.executions.settle([success(row.id, { ...outcome, notes })]))
    expect(await store.executions.get(row.id)).toEqual({
      ...row,
      ...outcome,
      state: 'succeeded',
      finishedAt: start + 9,
      notes: { a: 1, b: { d: 3 }, e: null },
      sequence: 2,
    })
  })

  test('settles each row of a group that is in a state to move from', async () => {
    const { store } = subject()
    const [open, done, other] = [exampleExecution(), exampleExecution(), exampleExecution()]
    await insertExecutions(store, open, done, other)
    await store.transact((tx) => tx.executions.settle([success(done.id)]))
    const moved = await store.transact((tx) =>
      tx.executions.settle([
        success(other.id, { state: 'unknown', code: 'outcome_unknown' }),
        success(done.id, { state: 'lost' }),
        success(newId('execution')),
        success(open.id),
        success(open.id, { state: 'tool_error' }),
      ]),
    )
    expect(moved).toEqual([2, undefined, undefined, 2, undefined])
    expect((await store.executions.get(done.id))?.state).toBe('succeeded')
    expect((await store.executions.get(open.id))?.state).toBe('succeeded')
    expect((await store.executions.get(other.id))?.code).toBe('outcome_unknown')
    expect(await store.transact((tx) => tx.executions.settle([]))).toEqual([])
  })

  test('writes a move that ends nothing, without an end', async () => {
    const { store } = subject()
    const row = exampleWaiting()
    await insertExecutions(store, row)
    const move = { id: row.id, from: ['awaiting_approval'], state: 'approved' } as const
    await store.transact((tx) => tx.executions.settle([{ ...move, finishedAt: null, at: start }]))
    expect(await store.executions.get(row.id)).toEqual({ ...row, state: 'approved', sequence: 2 })
  })
}

export function executionSequencesContract(subject: GetSubject): void {
  test('counts the events of an execution, whoever moves it, also within one group', async () => {
    const { store, rival } = subject()
    const row = exampleExecution({ gatewayInstance: newId('instance') })
    await insertExecutions(store, row)
    const taker = newId('instance')
    const claim = (by: typeof store) =>
      by.transact((tx) => tx.executions.claim(row.id, row.gatewayInstance, taker))
    expect(await claim(rival)).toBe(2)
    const unknown = success(row.id, { state: 'unknown', code: 'outcome_unknown' })
    const resolved = success(row.id, { from: ['unknown'], state: 'resolved', code: null })
    const moved = await store.transact((tx) => tx.executions.settle([unknown, unknown, resolved]))
    expect(moved).toEqual([3, undefined, 4])
    expect((await store.executions.get(row.id))?.sequence).toBe(4)
  })
}

export function outcomeRacesContract(subject: GetSubject): void {
  test('lets one of many outcomes of a call win', async () => {
    const { store, rival } = subject()
    const row = exampleExecution()
    await insertExecutions(store, row)
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        (i % 2 ? store : rival).transact((tx) =>
          tx.executions.settle([success(row.id, { resultBytes: i })]),
        ),
      ),
    )
    const won = results.map(([sequence]) => sequence === 2)
    expect(won.filter(Boolean)).toHaveLength(1)
    expect((await store.executions.get(row.id))?.resultBytes).toBe(won.indexOf(true))
  })

  test('refuses a move that the state machine does not have, before anything is written', async () => {
    const { store } = subject()
    const [first, second] = [exampleExecution(), exampleExecution({ state: 'unknown' })]
    await insertExecutions(store, first, second)
    const settle = store.transact((tx) =>
      tx.executions.settle([
        success(first.id),
        success(second.id, { from: ['dispatching', 'unknown'] }),
      ]),
    )
    await expect(settle).rejects.toThrow(TypeError)
    expect((await store.executions.get(first.id))?.state).toBe('dispatching')
  })
}

export function notesContract(subject: GetSubject): void {
  test('merges notes in whatever state', async () => {
    const { store } = subject()
    const row = exampleExecution({ state: 'unknown', notes: { kept: [1], old: true } })
    await insertExecutions(store, row)
    await store.transact(async (tx) => {
      await tx.executions.note(row.id, { old: false })
      await tx.executions.note(row.id, { evidence: 'late' })
      await tx.executions.note(newId('execution'), { evidence: 'of nothing' })
    })
    const notes = { kept: [1], old: false, evidence: 'late' }
    expect(await store.executions.get(row.id)).toEqual({ ...row, notes })
  })

  test('loses no note of two that come at once', async () => {
    const { store, rival } = subject()
    const row = exampleExecution()
    await insertExecutions(store, row)
    await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        (i % 2 ? store : rival).transact((tx) => tx.executions.note(row.id, { [`n${i}`]: i })),
      ),
    )
    const { notes } = (await store.executions.get(row.id)) ?? {}
    expect(Object.keys(notes ?? {})).toHaveLength(8)
  })

  test('counts what passed the barrier in a session by a grant after a time', async () => {
    const { store } = subject()
    const first = exampleExecution({ barrierAt: start })
    const { sessionId, grantId } = first
    if (!grantId) throw new TypeError('an example has a grant')
    await insertExecutions(
      store,
      first,
      exampleExecution({ sessionId, grantId, barrierAt: start + 1 }),
      exampleExecution({ sessionId, grantId, barrierAt: start + 2, state: 'not_sent' }),
      exampleExecution({ sessionId, grantId, barrierAt: null, state: 'refused' }),
      exampleExecution({ sessionId, barrierAt: start + 1 }),
      exampleExecution({ grantId, barrierAt: start + 1 }),
    )
    const passed = (since: number) =>
      store.transact((tx) => tx.executions.countPassed(sessionId, grantId, since))
    expect(await passed(start - 1)).toBe(3)
    expect(await passed(start)).toBe(2)
    expect(await passed(start + 2)).toBe(0)
  })
}

export function ownershipContract(subject: GetSubject): void {
  test('knows the dispatching rows of an instance', async () => {
    const { store } = subject()
    const mine = exampleExecution()
    const { gatewayInstance } = mine
    const settled = exampleExecution({ gatewayInstance, state: 'succeeded' })
    await insertExecutions(store, mine, settled, exampleExecution())
    expect(await store.executions.dispatchingOf(gatewayInstance)).toEqual([mine])
    expect(await store.executions.dispatchingOf(newId('instance'))).toEqual([])
  })

  test('calls a dispatching row abandoned when its owner is unknown, lapsed, or the one that asks', async () => {
    const { store } = subject()
    const [alive, lapsed] = [exampleInstance(), exampleInstance({ leaseUntil: start + 10 })]
    const ofAlive = exampleExecution({ gatewayInstance: alive.id })
    const ofLapsed = exampleExecution({ gatewayInstance: lapsed.id })
    const ofUnknown = exampleExecution()
    const settled = exampleExecution({ state: 'unknown' })
    await insertExecutions(store, ofAlive, ofLapsed, ofUnknown, settled)
    await store.transact(async (tx) => {
      await tx.instances.renew(alive)
      await tx.instances.renew(lapsed)
    })
    const abandoned = async (now: number, owner?: typeof alive.id) =>
      (await store.executions.abandoned(now, owner)).map(({ id }) => id)
    expect(await abandoned(start + 9)).toEqual([ofUnknown.id])
    expect(await abandoned(start + 10)).toEqual([ofLapsed.id, ofUnknown.id])
    expect(await abandoned(start + 9, alive.id)).toEqual([ofAlive.id, ofUnknown.id])
    await store.transact((tx) => tx.instances.end(alive.id))
    expect(await abandoned(start)).toEqual([ofAlive.id, ofUnknown.id])
  })

  test('hands a dispatching row to one recoverer', async () => {
    const { store, rival } = subject()
    const row = exampleExecution()
    const settled = exampleExecution({ state: 'succeeded' })
    await insertExecutions(store, row, settled)
    const takers = Array.from({ length: 6 }, () => newId('instance'))
    const claim = (by: typeof store, id: typeof row.id, to: (typeof takers)[number]) =>
      by.transact((tx) => tx.executions.claim(id, row.gatewayInstance, to))
    const results = await Promise.all(
      takers.map((taker, i) => claim(i % 2 ? store : rival, row.id, taker)),
    )
    expect(results.filter((sequence) => sequence !== undefined)).toEqual([2])
    const owner = takers[results.indexOf(2)]
    const claimed = { ...row, gatewayInstance: owner, sequence: 2 }
    expect(await store.executions.get(row.id)).toEqual(claimed)
    expect(await claim(store, settled.id, newId('instance'))).toBeUndefined()
  })
}

export function attemptsContract(subject: GetSubject): void {
  const settle = (store: Store, row: Execution, intentId: Execution['intentId']) =>
    store.transact((tx) =>
      tx.executions.settle([
        {
          id: row.id,
          from: ['dispatching'],
          ...(intentId && { intentId }),
          state: 'succeeded',
          finishedAt: start,
        },
      ]),
    )

  test('settles a row only while it names the intent that the outcome is of', async () => {
    const { store } = subject()
    const row = exampleExecution()
    const unnamed = exampleExecution({ intentId: null })
    await insertExecutions(store, row, unnamed)
    expect(await settle(store, row, newId('intent'))).toEqual([undefined])
    expect(await settle(store, unnamed, newId('intent'))).toEqual([undefined])
    expect(await store.executions.get(row.id)).toEqual(row)
    expect(await settle(store, row, row.intentId)).toEqual([2])
    expect(await settle(store, unnamed, null)).toEqual([2])
    expect(await store.executions.get(row.id)).toMatchObject({ intentId: row.intentId })
  })

  test('writes the caller and the resolution that a settlement says, and leaves them where it says none', async () => {
    const { store } = subject()
    const row = exampleWaiting({ state: 'unknown', caller: 'detached', isModern: true })
    const by = newId('instance')
    await insertExecutions(store, row)
    const resolution = {
      outcome: 'not_applied',
      by: newId('user'),
      note: 'looked \0\u202e\ud800',
      at: start,
      allowRetry: true,
    } as const
    const resolve = { id: row.id, from: ['unknown'], state: 'resolved', finishedAt: start } as const
    await store.transact((tx) => tx.executions.settle([{ ...resolve, resolution }]))
    const resolved = { ...row, state: 'resolved', finishedAt: start, resolution, sequence: 2 }
    expect(await store.executions.get(row.id)).toEqual(resolved)

    const left = exampleWaiting({ callerInstance: by })
    const free = exampleWaiting()
    await insertExecutions(store, left, free)
    const refuse = { from: ['awaiting_approval'], state: 'refused', finishedAt: start } as const
    await store.transact((tx) =>
      tx.executions.settle([
        { ...refuse, id: left.id, caller: 'detached' },
        { ...refuse, id: free.id, caller: null },
      ]),
    )
    expect(await store.executions.get(left.id)).toMatchObject({
      caller: 'detached',
      callerInstance: by,
    })
    expect(await store.executions.get(free.id)).toMatchObject({ caller: null, resolution: null })
  })
}
