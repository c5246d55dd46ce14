import { expect, test } from 'vitest'
import { exampleExecution, exampleWaiting, newId } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

export function locksContract(subject: GetSubject): void {
  test('locks the rows that exist, by id, as they are now', async () => {
    const { store } = subject()
    const [first, second] = [exampleWaiting({ state: 'approved' }), exampleExecution()]
    await insertExecutions(store, second, first)
    const locked = await store.transact((tx) =>
      tx.executions.lock([second.id, newId('execution'), first.id]),
    )
    expect([...locked]).toEqual([
      [first.id, first],
      [second.id, second],
    ])
    expect(await store.transact((tx) => tx.executions.lock([]))).toEqual(new Map())
  })

  test('makes every other change of a locked row wait', async () => {
    const { store, rival } = subject()
    const row = exampleWaiting({ state: 'approved' })
    await insertExecutions(store, row)
    const order: string[] = []
    let other: Promise<unknown> | undefined
    await store.transact(async (tx) => {
      await tx.executions.lock([row.id])
      other = rival
        .transact((tx) => tx.executions.note(row.id, { seen: true }))
        .then(() => order.push('noted'))
      await tx.executions.settle([
        {
          id: row.id,
          from: ['approved'],
          state: 'refused',
          code: 'session_not_open',
          finishedAt: 1,
        },
      ])
      await tx.executions.get(row.id)
      order.push('refused')
    })
    await other
    expect(order).toEqual(['refused', 'noted'])
    expect(await store.executions.get(row.id)).toMatchObject({
      state: 'refused',
      notes: { seen: true },
    })
  })
}

export function writeKeyLocksContract(subject: GetSubject): void {
  test('gives write keys to a transaction, and to the next one when it has ended', async () => {
    const { store, rival } = subject()
    for (const how of ['try', 'wait'] as const) {
      const held = await store.transact(async (tx) => {
        const held = await tx.executions.holdWriteKeys(['b', 'a', 'b'], how)
        expect(await tx.executions.holdWriteKeys(['a'], 'try')).toEqual(new Set(['a']))
        return held
      })
      expect(held).toEqual(new Set(['a', 'b']))
      expect(await rival.transact((tx) => tx.executions.holdWriteKeys(['a', 'b'], 'try'))).toEqual(
        held,
      )
    }
    expect(await store.transact((tx) => tx.executions.holdWriteKeys([], 'wait'))).toEqual(new Set())
  })

  test('inserts a row whose write key its transaction holds', async () => {
    const { store } = subject()
    const results = await store.transact(async (tx) => {
      await tx.executions.holdWriteKeys(['k'], 'wait')
      return tx.executions.insert([exampleExecution({ writeKey: 'k', access: 'write' })])
    })
    expect(results).toEqual(['inserted'])
  })

  test('hands keys that are waited for in different orders to one after the other', async () => {
    const { store, rival } = subject()
    const keys = ['a', 'b', 'c', 'd']
    let inside = 0
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        (i % 2 ? store : rival).transact(async (tx) => {
          await tx.executions.holdWriteKeys(i % 3 ? keys : keys.toReversed(), 'wait')
          expect(++inside).toBe(1)
          await tx.executions.twins(keys)
          inside--
        }),
      ),
    )
  })
}
