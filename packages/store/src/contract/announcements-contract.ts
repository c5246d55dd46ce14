import type { Store } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { expect, test, vi } from 'vitest'
import { newId } from './examples.ts'
import type { GetSubject } from './subject.ts'

const announce = (store: Store, ids: readonly ExecutionId[]) =>
  store.transact((tx) => tx.announce(ids))

/** What a store hears from when it is sure to hear. A first `all` says that something may have been missed before. */
async function listening(store: Store) {
  const heard: (readonly ExecutionId[] | 'all')[] = []
  const stop = store.listen((ids) => heard.push(ids))
  const probe = newId('execution')
  await vi.waitFor(async () => {
    await announce(store, [probe])
    expect(heard.flat()).toContain(probe)
  })
  // Two of one store come in order: when the second is heard, every probe was.
  const last = newId('execution')
  await announce(store, [last])
  await vi.waitFor(() => expect(heard.flat()).toContain(last))
  heard.length = 0
  return { heard, stop }
}

export function announcementsContract(subject: GetSubject): void {
  test('tells every listener what a transaction announced, whichever gateway it was', async () => {
    const { store, rival } = subject()
    const [here, there] = [await listening(store), await listening(rival)]
    const ids = [newId('execution'), newId('execution')]
    await announce(rival, ids)
    await vi.waitFor(() => {
      expect(here.heard).toContainEqual(ids)
      expect(there.heard).toContainEqual(ids)
    })
  })

  test('tells after the commit, when everybody sees what was decided', async () => {
    const { store, rival } = subject()
    const { heard } = await listening(rival)
    const name = 'sign'
    const seen: unknown[] = []
    rival.listen((ids) => {
      if (ids !== 'all') seen.push(rival.settings.get(name))
    })
    await store.transact(async (tx) => {
      await tx.announce([newId('execution')])
      await tx.settings.set({ name, value: 'decided', by: 'system', at: 0 })
      expect(heard).toEqual([])
    })
    await vi.waitFor(() => expect(seen).toHaveLength(1))
    expect(await seen[0]).toMatchObject({ value: 'decided' })
  })

  test('tells nothing of a transaction that throws', async () => {
    const { store, rival } = subject()
    const { heard } = await listening(rival)
    const work = store.transact(async (tx) => {
      await tx.announce([newId('execution')])
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    const next = newId('execution')
    await announce(store, [])
    await announce(store, [next])
    await vi.waitFor(() => expect(heard).toEqual([[next]]))
  })
}

export function listenersContract(subject: GetSubject): void {
  test('tells of many at once, or that there were many', async () => {
    const { store } = subject()
    const { heard } = await listening(store)
    const ids = Array.from({ length: 200 }, () => newId('execution'))
    await announce(store, ids)
    await vi.waitFor(() => expect(heard).toEqual([ids]))
    const more = Array.from({ length: 5000 }, () => newId('execution'))
    await announce(store, more)
    await vi.waitFor(() => expect(heard).toHaveLength(2))
    expect([more, 'all']).toContainEqual(heard[1])
  })

  test('tells nobody who has stopped, and lets no listener disturb another', async () => {
    const { store } = subject()
    const stopped = await listening(store)
    stopped.stop()
    stopped.stop()
    store.listen(() => {
      throw new Error('I cannot')
    })
    const { heard } = await listening(store)
    const id = newId('execution')
    await announce(store, [id])
    await vi.waitFor(() => expect(heard).toEqual([[id]]))
    expect(stopped.heard).toEqual([])
  })

  test('announces and listens no more after the end', async () => {
    const { store } = subject()
    const { heard } = await listening(store)
    let leaked: ((ids: readonly ExecutionId[]) => Promise<void>) | undefined
    await store.transact(async (tx) => {
      leaked = (ids) => tx.announce(ids)
    })
    await expect(leaked?.([newId('execution')])).rejects.toThrow(TypeError)
    await store.close()
    expect(() => store.listen(() => {})).toThrow(
      expect.objectContaining({ code: 'store_unavailable' }) as Error,
    )
    expect(heard).toEqual([])
  })
}
