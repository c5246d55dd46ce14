import type { JournalCheckpoint, JournalPage, JournalStream, Store } from '@sallyport/core'
import type { StreamId } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import { exampleInstance, examplePage, exampleStream, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

const all = Number.MAX_SAFE_INTEGER

async function appendAll(store: Store, ...pages: readonly JournalPage[]): Promise<void> {
  for (const page of pages) await store.transact((tx) => tx.journal.append(page))
}

const begin = (store: Store, ...streams: readonly JournalStream[]) =>
  store.transact(async (tx) => {
    for (const stream of streams) await tx.journal.begin(stream)
  })

export function journalPagesContract(subject: GetSubject): void {
  test('keeps pages byte for byte, in the order in which they were appended', async () => {
    const { store, rival } = subject()
    const [one, two] = [newId('stream'), newId('stream')]
    const text = '{"events":[{"notes":{"said":"\\u0000\\ud800 \u202e 日本語 \\""}}]}'
    const pages = [
      examplePage({ stream: one, first: 1, last: 3, text }),
      examplePage({ stream: two, first: 1, last: 1 }),
      examplePage({ stream: one, first: 4, last: 4 }),
    ]
    expect(await store.journal.lastPosition()).toBe(0)
    await appendAll(store, ...pages)
    const kept = await rival.journal.pages(0, all, 10)
    expect(kept.map(({ position: _, ...page }) => page)).toEqual(pages)
    const positions = kept.map(({ position }) => position)
    expect(positions.toSorted((a, b) => a - b)).toEqual(positions)
    expect(await store.journal.lastPosition()).toBe(positions.at(-1))
    const [first = 0, second = 0] = positions
    expect(await store.journal.pages(first, all, 1)).toEqual([kept[1]])
    expect(await store.journal.pages(0, second, 10)).toEqual(kept.slice(0, 2))
  })

  test('never has two pages of a stream that begin alike, and none of what was rolled back', async () => {
    const { store } = subject()
    const page = examplePage()
    await appendAll(store, page)
    await expect(appendAll(store, examplePage({ ...page, last: 9 }))).rejects.toThrow(TypeError)
    const work = store.transact(async (tx) => {
      await tx.journal.append(examplePage({ stream: page.stream, first: 2, last: 2 }))
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    expect(await store.journal.pages(0, all, 10)).toMatchObject([page])
  })

  test('knows the end of what is kept: nothing turns up before it later', async () => {
    const { store, rival } = subject()
    const held: Promise<unknown>[] = []
    await store.transact(async (tx) => {
      await tx.journal.append(examplePage())
      const bounds = rival.transact(async (tx) => {
        await tx.journal.holdPages()
        return tx.journal.lastPosition()
      })
      held.push(bounds)
    })
    const [bound] = await Promise.all(held)
    expect(bound).toBe(await store.journal.lastPosition())
    expect(bound).toBeGreaterThan(0)
  })
}

export function journalStreamsContract(subject: GetSubject): void {
  test('begins a stream once', async () => {
    const { store } = subject()
    const stream = exampleStream()
    await begin(store, stream)
    await expect(begin(store, stream)).rejects.toThrow(TypeError)
  })

  test('knows which streams nobody goes on with, until they are ended', async () => {
    const { store } = subject()
    const [alive, lapsed, me] = [
      exampleInstance(),
      exampleInstance({ leaseUntil: start + 10 }),
      exampleInstance({ leaseUntil: start + 1 }),
    ]
    const streams = [alive.id, lapsed.id, me.id, newId('instance')].map((instance) =>
      exampleStream({ instance }),
    )
    await begin(store, ...streams)
    await store.transact(async (tx) => {
      for (const instance of [alive, lapsed, me]) await tx.instances.renew(instance)
    })
    const ids = streams.map(({ id }) => id)
    const [, ofLapsed, , ofNobody] = ids as [StreamId, StreamId, StreamId, StreamId]
    const orphans = (now: number) => store.transact((tx) => tx.journal.orphans(now, me.id))
    expect(await orphans(start + 9)).toEqual([ofNobody])
    expect(await orphans(start + 10)).toEqual([ofLapsed, ofNobody])
    await store.transact((tx) => tx.journal.endStreams([ofNobody], start))
    expect(await orphans(start + 10)).toEqual([ofLapsed])
    await store.transact((tx) => tx.journal.endStreams([], start))
  })

  test('finds heads beyond what is covered', async () => {
    const { store } = subject()
    const [one, two, three] = [exampleStream(), exampleStream(), exampleStream()]
    const ids = [one.id, two.id, three.id]
    await begin(store, one, two, three)
    const newest = examplePage({ stream: one.id, first: 3, last: 5 })
    const only = examplePage({ stream: two.id, first: 1, last: 2 })
    await appendAll(store, examplePage({ stream: one.id, first: 1, last: 2 }), newest, only)
    const uncovered = () => store.transact((tx) => tx.journal.uncovered(ids))
    const headOf = ({ stream, last, hash }: JournalPage) => ({ stream, sequence: last, hash })
    expect(await uncovered()).toEqual([headOf(newest), headOf(only)])
    await store.transact((tx) =>
      tx.journal.cover([headOf(only), { ...headOf(newest), sequence: 2 }]),
    )
    expect(await uncovered()).toEqual([headOf(newest)])
    await store.transact((tx) =>
      tx.journal.cover([headOf(newest), { ...headOf(only), sequence: 1 }]),
    )
    expect(await uncovered()).toEqual([])
  })
}

const checkpoint = (given: Partial<JournalCheckpoint>): JournalCheckpoint => ({
  sequence: 1,
  at: start,
  position: 0,
  jws: 'header.payload.signature',
  ...given,
})

export function journalCheckpointsContract(subject: GetSubject): void {
  test('keeps checkpoints by sequence and finds the newest, of all and before a time', async () => {
    const { store } = subject()
    expect(await store.journal.newestCheckpoint()).toBeUndefined()
    const made = [
      checkpoint({}),
      checkpoint({ sequence: 2, at: start + 5, position: 7, jws: 'two' }),
      checkpoint({ sequence: 3, at: start + 5, position: 9 }),
      checkpoint({ sequence: 4, at: start + 3, position: 9 }),
    ]
    const [first, second, third, fourth] = made
    await store.transact(async (tx) => {
      for (const one of made.toReversed()) await tx.journal.addCheckpoint(one)
    })
    expect(await store.journal.checkpoints(0, 9, 9)).toEqual(made)
    expect(await store.journal.checkpoints(1, 3, 9)).toEqual([second, third])
    expect(await store.journal.checkpoints(0, 9, 1)).toEqual([first])
    expect(await store.journal.newestCheckpoint()).toEqual(fourth)
    expect(await store.journal.newestCheckpoint(start + 4)).toEqual(fourth)
    expect(await store.journal.newestCheckpoint(start + 5)).toEqual(third)
    expect(await store.journal.newestCheckpoint(start - 1)).toBeUndefined()
    const again = store.transact((tx) => tx.journal.addCheckpoint(checkpoint({})))
    await expect(again).rejects.toThrow(TypeError)
  })

  test('lets gateways that add at the same time do it one after the other', async () => {
    const { store, rival } = subject()
    const add = (by: Store) =>
      by.transact(async (tx) => {
        await tx.journal.holdChain()
        const sequence = ((await tx.journal.newestCheckpoint())?.sequence ?? 0) + 1
        await tx.journal.addCheckpoint(checkpoint({ sequence }))
      })
    await Promise.all(Array.from({ length: 12 }, (_, i) => add(i % 2 ? store : rival)))
    const sequences = (await store.journal.checkpoints(0, 99, 99)).map(({ sequence }) => sequence)
    expect(sequences).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
  })

  test('keeps each key once, oldest first', async () => {
    const { store } = subject()
    const key = (kid: string, at: number, x = kid) => ({
      kid,
      jwk: { kty: 'OKP', crv: 'Ed25519', x } as const,
      at,
    })
    await store.transact(async (tx) => {
      await tx.journal.addKey(key('b', start + 1))
      await tx.journal.addKey(key('a', start + 2))
      await tx.journal.addKey(key('c', start))
      await tx.journal.addKey(key('a', start, 'of another'))
    })
    const kept = [key('c', start), key('b', start + 1), key('a', start + 2)]
    expect(await store.journal.keys()).toEqual(kept)
  })
}
