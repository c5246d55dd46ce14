import { type Body, bodyKinds, type Store } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleBody, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

const insert = (store: Store, ...bodies: Body[]) => store.transact((tx) => tx.bodies.insert(bodies))

export function bodiesContract(subject: GetSubject): void {
  test('gives back every byte, of each kind of body of an execution', async () => {
    const { store } = subject()
    const sealed = Uint8Array.from({ length: 256 }, (_, i) => i)
    const given = exampleBody({ sealed: Buffer.from(sealed) })
    const { executionId } = given
    const result = exampleBody({ executionId, kind: 'result', sealed: new Uint8Array() })
    await insert(store, given, result)
    const read = await store.bodies.get(executionId, 'arguments')
    expect(read).toEqual({ ...given, sealed })
    expect(await store.bodies.get(executionId, 'result')).toEqual(result)
    expect(await store.bodies.get(newId('execution'), 'arguments')).toBeUndefined()
    await insert(store)
  })

  test('keeps bodies of a mebibyte, several at once', async () => {
    const { store } = subject()
    const bodies = [1, 2, 3].map((digit) =>
      exampleBody({
        sealed: Uint8Array.from({ length: 1_048_576 }, (_, i) => (i * digit) % 251),
      }),
    )
    await insert(store, ...bodies)
    for (const body of bodies) {
      const read = await store.bodies.get(body.executionId, 'arguments')
      expect(Buffer.compare(read?.sealed ?? new Uint8Array(), body.sealed)).toBe(0)
    }
  })

  test('lets nobody change what is kept through what was given or handed out', async () => {
    const { store } = subject()
    const body = exampleBody({ sealed: Uint8Array.of(1, 2, 3) })
    await insert(store, body)
    body.sealed[0] = 9
    const read = await store.bodies.get(body.executionId, body.kind)
    if (read) read.sealed[1] = 9
    const sealed = (await store.bodies.get(body.executionId, body.kind))?.sealed
    expect(sealed).toEqual(Uint8Array.of(1, 2, 3))
  })

  test('leaves one that is there as it is, and keeps its neighbours', async () => {
    const { store, rival } = subject()
    const first = exampleBody()
    await insert(store, first)
    const second = { ...first, sealed: Uint8Array.of(7), dueAt: start }
    const other = exampleBody({ executionId: first.executionId, kind: 'result' })
    await insert(store, second, other, { ...other, sealed: Uint8Array.of(8) })
    expect(await store.bodies.get(first.executionId, 'arguments')).toEqual(first)
    expect(await store.bodies.get(first.executionId, 'result')).toEqual(other)
    const executionId = newId('execution')
    const kinds = [...bodyKinds]
    await Promise.all(
      Array.from({ length: 10 }, (_, i) => {
        const bodies = kinds.map((kind) =>
          exampleBody({ executionId, kind, sealed: Uint8Array.of(i) }),
        )
        return insert(i % 2 ? store : rival, ...(i % 4 ? bodies : bodies.toReversed()))
      }),
    )
    const kept = await Promise.all(kinds.map((kind) => store.bodies.get(executionId, kind)))
    expect(kept.map((body) => body?.sealed.length)).toEqual([1, 1])
  })

  test('refuses what is no bytes', async () => {
    const { store } = subject()
    const body = exampleBody({ sealed: 'text' as unknown as Uint8Array })
    await expect(insert(store, body)).rejects.toThrow(TypeError)
    expect(await store.bodies.get(body.executionId, 'arguments')).toBeUndefined()
  })
}

export function retentionContract(subject: GetSubject): void {
  const due = async (store: Store, now: number, limit = 9) =>
    (await store.bodies.due(now, limit)).map(({ executionId, kind }) => [executionId, kind])

  test('knows which bodies are due, the longest due first', async () => {
    const { store } = subject()
    const late = exampleBody({ dueAt: start + 20 })
    const early = exampleBody({ dueAt: start + 10, kind: 'result' })
    const same = exampleBody({ dueAt: start + 10, executionId: early.executionId })
    await insert(store, late, early, same)
    expect(await due(store, start + 9)).toEqual([])
    expect(await store.bodies.due(start + 10, 9)).toEqual([same, early])
    expect(await due(store, start + 20)).toEqual([
      [early.executionId, 'arguments'],
      [early.executionId, 'result'],
      [late.executionId, 'arguments'],
    ])
    expect(await due(store, start + 20, 1)).toEqual([[early.executionId, 'arguments']])
  })

  test('puts the day off for those that are named, and deletes those', async () => {
    const { store } = subject()
    const [first, second] = [exampleBody({ dueAt: start }), exampleBody({ dueAt: start })]
    const result = { ...first, kind: 'result' as const }
    await insert(store, first, second, result)
    await store.transact((tx) => tx.bodies.postpone([first, exampleBody()], start + 50))
    await store.transact((tx) => tx.bodies.postpone([], start + 99))
    expect(await store.bodies.get(first.executionId, 'arguments')).toEqual({
      ...first,
      dueAt: start + 50,
    })
    expect(await due(store, start + 49)).toEqual([
      [result.executionId, 'result'],
      [second.executionId, 'arguments'],
    ])
    await store.transact((tx) => tx.bodies.delete([first, second, exampleBody()]))
    await store.transact((tx) => tx.bodies.delete([]))
    expect(await due(store, start + 99)).toEqual([[result.executionId, 'result']])
    expect(await store.bodies.get(first.executionId, 'arguments')).toBeUndefined()
  })

  test('deletes or postpones nothing of a transaction that throws', async () => {
    const { store } = subject()
    const body = exampleBody({ dueAt: start })
    await insert(store, body)
    const work = store.transact(async (tx) => {
      await tx.bodies.postpone([body], start + 9)
      await tx.bodies.delete([body])
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    expect(await store.bodies.get(body.executionId, 'arguments')).toEqual(body)
  })
}
