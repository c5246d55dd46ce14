import type { CallerChange, CallerState, Execution, Store } from '@sallyport/core'
import { callerStates } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { exampleExecution, exampleWaiting, newId, start } from './examples.ts'
import { type GetSubject, insertExecutions } from './subject.ts'

const move = (store: Store, ...changes: CallerChange[]) =>
  store.transact((tx) => tx.executions.moveCallers(changes))
const called = (caller: CallerState | null, given: Partial<Execution> = {}) =>
  exampleWaiting({ state: 'succeeded', caller, ...given })

export function callersContract(subject: GetSubject): void {
  test('moves a caller, whatever the state of its row, and nothing else', async () => {
    const { store } = subject()
    for (const state of ['awaiting_approval', 'dispatching', 'succeeded', 'refused'] as const) {
      const row = called('detached', { state, notes: { a: 1 } })
      await insertExecutions(store, row)
      const by = newId('instance')
      const change = { id: row.id, from: ['detached', 'held_back'], to: 'attached', by } as const
      expect(await move(store, { ...change, isModern: true })).toEqual([true])
      const moved = { ...row, caller: 'attached', callerInstance: by, isModern: true }
      expect(await store.executions.get(row.id)).toEqual(moved)
      expect(await move(store, { ...change, from: ['attached'], to: 'detached' })).toEqual([true])
      expect(await store.executions.get(row.id)).toEqual({ ...moved, caller: 'detached' })
    }
  })

  test('moves a caller from any state to any other, and only from those it is asked for', async () => {
    const { store } = subject()
    for (const from of callerStates) {
      for (const to of callerStates) {
        const [row, other] = [called(from), called(from)]
        await insertExecutions(store, row, other)
        const by = newId('instance')
        const rest = callerStates.filter((state) => state !== from)
        const results = await move(
          store,
          { id: row.id, from: [from], to, by, at: start + 7 },
          { id: other.id, from: rest, to, by, at: start + 7 },
        )
        expect(results).toEqual([true, false])
        const collectedAt = to === 'collected' ? start + 7 : null
        expect(await store.executions.get(row.id)).toEqual({
          ...row,
          caller: to,
          callerInstance: by,
          collectedAt,
        })
        expect(await store.executions.get(other.id)).toEqual(other)
      }
    }
  })
}

export function callerLimitsContract(subject: GetSubject): void {
  test('moves no caller of a row that has none, of another instance, or that does not exist', async () => {
    const { store } = subject()
    const [nobody, row] = [called(null), called('attached')]
    const unheld = called('attached', { callerInstance: null })
    await insertExecutions(store, nobody, row, unheld)
    const by = newId('instance')
    const change = { from: callerStates, to: 'detached', by } as const
    const results = await move(
      store,
      { ...change, id: nobody.id },
      { ...change, id: row.id, of: by },
      { ...change, id: unheld.id, of: by },
      { ...change, id: newId('execution') },
      { ...change, id: exampleExecution().id, from: [] },
    )
    expect(results).toEqual([false, false, false, false, false])
    expect(await store.executions.get(row.id)).toEqual(row)
    const holder = row.callerInstance
    if (!holder) throw new TypeError('an example has a holder')
    expect(await move(store, { ...change, id: row.id, of: holder })).toEqual([true])
    expect(await move(store)).toEqual([])
  })

  test('never calls an unknown outcome collected', async () => {
    const { store } = subject()
    const row = called('attached', { state: 'unknown' })
    await insertExecutions(store, row)
    const by = newId('instance')
    const change = { id: row.id, from: callerStates, by, at: start } as const
    expect(await move(store, { ...change, to: 'collected' })).toEqual([false])
    expect(await store.executions.get(row.id)).toEqual(row)
    expect(await move(store, { ...change, to: 'detached' })).toEqual([true])
  })

  test('lets a later change of a group see the earlier one, in the order given', async () => {
    const { store } = subject()
    const [row, other] = [called('attached'), called('attached')]
    await insertExecutions(store, row, other)
    const [a, b] = [newId('instance'), newId('instance')]
    const results = await move(
      store,
      { id: row.id, from: ['detached'], to: 'attached', by: b },
      { id: row.id, from: ['attached'], to: 'detached', by: a },
      { id: other.id, from: ['attached'], to: 'collected', by: a, at: start },
      { id: row.id, from: ['detached'], of: a, to: 'attached', by: b },
      { id: row.id, from: ['attached'], of: a, to: 'detached', by: a },
    )
    expect(results).toEqual([false, true, true, true, false])
    expect(await store.executions.get(row.id)).toMatchObject({
      caller: 'attached',
      callerInstance: b,
    })
  })
}

export function callerRacesContract(subject: GetSubject): void {
  test('lets one of many take a caller over', async () => {
    const { store, rival } = subject()
    const row = called('detached')
    await insertExecutions(store, row)
    const takers = Array.from({ length: 10 }, () => newId('instance'))
    const results = await Promise.all(
      takers.map((by, i) =>
        move(i % 2 ? store : rival, { id: row.id, from: ['detached'], to: 'attached', by }),
      ),
    )
    const won = results.flat()
    expect(won.filter(Boolean)).toHaveLength(1)
    expect((await store.executions.get(row.id))?.callerInstance).toBe(takers[won.indexOf(true)])
  })

  test('moves the callers of groups that meet in different orders', async () => {
    const { store, rival } = subject()
    const rows = Array.from({ length: 40 }, () => called('attached'))
    await insertExecutions(store, ...rows)
    const ids = rows.map(({ id }) => id)
    const groups = Array.from({ length: 10 }, (_, i) => {
      const by = newId('instance')
      const turned = [...ids.slice(i * 4), ...ids.slice(0, i * 4)]
      const inOrder = i % 2 ? turned : turned.toReversed()
      return inOrder.map((id) => ({ id, from: ['attached'], to: 'detached', by }) as const)
    })
    const results = await Promise.all(
      groups.map((group, i) => move(i % 2 ? store : rival, ...group)),
    )
    expect(results.flat().filter(Boolean)).toHaveLength(rows.length)
  })

  test('moves a caller and settles its row at once, and loses neither', async () => {
    const { store, rival } = subject()
    for (let i = 0; i < 10; i++) {
      const row = called('attached', { state: 'dispatching' })
      await insertExecutions(store, row)
      const by = newId('instance')
      const outcome = {
        id: row.id,
        from: ['dispatching'],
        state: 'succeeded',
        finishedAt: 1,
      } as const
      await Promise.all([
        store.transact((tx) => tx.executions.settle([outcome])),
        move(rival, { id: row.id, from: ['attached'], to: 'detached', by }),
      ])
      expect(await store.executions.get(row.id)).toMatchObject({
        state: 'succeeded',
        caller: 'detached',
      })
    }
  })
}

export function twinsContract(subject: GetSubject): void {
  test('knows the identical writes that somebody may still take, oldest first', async () => {
    const { store } = subject()
    const of = (writeKey: string | null, caller: CallerState | null) =>
      called(caller, { writeKey, state: 'refused' })
    const [first, second, third] = [of('k', 'detached'), of('k', 'attached'), of('l', 'held_back')]
    await insertExecutions(store, second, third, first)
    await insertExecutions(
      store,
      of('k', 'collected'),
      of('k', null),
      of('m', 'attached'),
      of(null, 'attached'),
    )
    expect(await store.executions.twins(['l', 'k', 'nothing'])).toEqual([first, second, third])
    expect(await store.executions.twins(['l'])).toEqual([third])
    expect(await store.executions.twins([])).toEqual([])
  })

  test('knows the newest identical writes after a time, whatever became of them', async () => {
    const { store } = subject()
    const at = (arrivedAt: number, given: Partial<Execution> = {}) =>
      called('collected', { writeKey: 'k', arrivedAt, ...given })
    const [old, first, second] = [at(start), at(start + 1), at(start + 2, { caller: null })]
    await insertExecutions(store, second, old, first, at(start + 3, { writeKey: 'l' }))
    expect(await store.executions.identical('k', start, 9)).toEqual([second, first])
    expect(await store.executions.identical('k', start, 1)).toEqual([second])
    expect(await store.executions.identical('k', start + 2, 9)).toEqual([])
  })

  test('knows the unknown outcomes of a tool of an owner, newest first', async () => {
    const { store } = subject()
    const first = called('detached', { state: 'unknown', tool: 'nul \0' })
    const { ownerId, connectionId } = first
    if (!connectionId) throw new TypeError('an example has a connection')
    const same = { ownerId, connectionId, tool: first.tool }
    const second = called('detached', { ...same, state: 'unknown' })
    await insertExecutions(
      store,
      second,
      first,
      called('detached', { ...same, state: 'resolved' }),
      called('detached', { ...same, state: 'unknown', tool: 'other' }),
      called('detached', { ...same, state: 'unknown', ownerId: newId('user') }),
      called('detached', { ...same, state: 'unknown', connectionId: newId('connection') }),
    )
    expect(await store.executions.unknownOf(same, 9)).toEqual([second, first])
    expect(await store.executions.unknownOf(same, 1)).toEqual([second])
  })

  test('knows what waits before the barrier, of any session, oldest first', async () => {
    const { store } = subject()
    const [first, second] = [exampleWaiting(), exampleWaiting({ state: 'approved' })]
    const states = ['dispatching', 'refused', 'unknown', 'awaiting_answer', 'succeeded'] as const
    await insertExecutions(
      store,
      second,
      ...states.map((state) => called('attached', { state })),
      first,
    )
    expect(await store.executions.waiting(9)).toEqual([first, second])
    expect(await store.executions.waiting(1)).toEqual([first])
  })
}
