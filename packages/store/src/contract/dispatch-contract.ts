import type { Execution, Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleExecution, exampleWaiting, newId, start } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

const approved = (given: Partial<Execution> = {}) => exampleWaiting({ state: 'approved', ...given })

/** What the barrier adds to a row. */
const attempt = (row: Execution): Execution => ({
  ...row,
  intentId: newId('intent'),
  intentDigest: 'sha256:intent',
  intentIssuedAt: start + 5,
  gatewayInstance: newId('instance'),
  workerInstance: 'ins_worker',
  notAfter: start + 75_000,
  barrierAt: start + 5,
})

const dispatch = (store: Store, ...rows: Execution[]) =>
  store.transact(async (tx) => {
    const keys = rows.flatMap(({ writeKey }) => writeKey ?? [])
    await tx.executions.holdWriteKeys(keys, 'wait')
    await tx.executions.lock(rows.map(({ id }) => id))
    return tx.executions.dispatch(rows)
  })

export function dispatchContract(subject: GetSubject): void {
  test('sends an approved row: intent, owner, worker and times, and nothing else', async () => {
    const { store } = subject()
    const row = approved({ notes: { a: 1 }, callId: 'nul \0' })
    await insertExecutions(store, row)
    const sent = attempt(row)
    const given = { ...sent, tool: 'other', state: 'unknown', caller: null, sequence: 9 } as const
    expect(await dispatch(store, given)).toEqual([2])
    expect(await store.executions.get(row.id)).toEqual({
      ...sent,
      state: 'dispatching',
      sequence: 2,
    })
  })

  test('sends each row of a group on its own, once', async () => {
    const { store } = subject()
    const states = ['awaiting_approval', 'refused', 'dispatching', 'unknown', 'not_sent'] as const
    const others = states.map((state) => approved({ state }))
    const [first, second] = [approved(), approved({ writeKey: null })]
    await insertExecutions(store, ...others, first, second)
    const rows = [...others, first, first, approved(), second]
    expect(await dispatch(store, ...rows.map(attempt))).toEqual([
      ...others.map(() => undefined),
      2,
      undefined,
      undefined,
      2,
    ])
    for (const { id, state } of others)
      expect(await store.executions.get(id)).toMatchObject({ state })
    expect(await store.transact((tx) => tx.executions.dispatch([]))).toEqual([])
  })

  test('keeps a row back while another of its write key is dispatching or unknown', async () => {
    const { store } = subject()
    for (const state of ['dispatching', 'unknown'] as const) {
      const twin = exampleExecution({ writeKey: `k ${state}`, state })
      const row = approved({ writeKey: `k ${state}` })
      await insertExecutions(store, twin, row)
      expect(await dispatch(store, attempt(row))).toEqual([undefined])
      expect(await store.executions.get(row.id)).toEqual(row)
      const over = state === 'dispatching' ? 'succeeded' : 'resolved'
      await store.transact((tx) =>
        tx.executions.settle([{ id: twin.id, from: [state], state: over, finishedAt: 1 }]),
      )
      expect(await dispatch(store, attempt(row))).toEqual([2])
    }
  })
}

export function identicalDispatchContract(subject: GetSubject): void {
  test('lets the first of two rows with one write key go, in one call and in one transaction', async () => {
    const { store } = subject()
    const [a, b, c] = [
      approved({ writeKey: 'k' }),
      approved({ writeKey: 'k' }),
      approved({ writeKey: 'k' }),
    ]
    await insertExecutions(store, a, b, c)
    expect(await dispatch(store, attempt(b), attempt(a))).toEqual([2, undefined])
    const later = await store.transact(async (tx) => {
      await tx.executions.settle([
        { id: b.id, from: ['dispatching'], state: 'succeeded', finishedAt: 1 },
      ])
      return [
        await tx.executions.dispatch([attempt(a)]),
        await tx.executions.dispatch([attempt(c)]),
      ]
    })
    expect(later).toEqual([[2], [undefined]])
  })

  test('lets one of many identical rows go, whoever asks', async () => {
    const { store, rival } = subject()
    const rows = Array.from({ length: 10 }, () => approved({ writeKey: 'k' }))
    await insertExecutions(store, ...rows)
    const results = await Promise.all(
      rows.map((row, i) => dispatch(i % 2 ? store : rival, attempt(row))),
    )
    expect(results.flat().filter((sequence) => sequence !== undefined)).toEqual([2])
    expect(await store.executions.count('dispatching')).toBe(1)
  })

  test('lets an approved row or an inserted one go, and never both', async () => {
    const { store, rival } = subject()
    for (let i = 0; i < 10; i++) {
      const row = approved({ writeKey: `k ${i}` })
      await insertExecutions(store, row)
      const inserted = exampleExecution({ writeKey: `k ${i}`, access: 'write' })
      const [[sequence], [result]] = await Promise.all([
        dispatch(store, attempt(row)),
        insertExecutions(rival, inserted),
      ])
      expect([sequence, result]).toSatisfy(([sent, how]) => (sent === 2) !== (how === 'inserted'))
    }
    expect(await store.executions.count('dispatching')).toBe(10)
  })
}
