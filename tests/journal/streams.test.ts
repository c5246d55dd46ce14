import type { Store, Tx } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { openMemoryStore } from '@sallyport/store'
import { describe, expect, test } from 'vitest'
import { recordedEvent } from '../../packages/core/src/journal/events.ts'
import { Recorder } from './journal-world.ts'

const all = Number.MAX_SAFE_INTEGER
const memory = () => openMemoryStore({ now: Date.now })

/** `stream first-last` of every page, streams by the order in which they came. */
async function pagesOf({ journal }: Store): Promise<string[]> {
  const pages = await journal.pages(0, all, 1_000)
  const names = [...new Set(pages.map(({ stream }) => stream))]
  return pages.map(({ stream, first, last }) => `${names.indexOf(stream)} ${first}-${last}`)
}

/** A store whose transactions end as the test says, done or not. */
function faulty(store: Store) {
  const faults: ('before' | 'after')[] = []
  const transact: Store['transact'] = async (work, options) => {
    const fault = faults.shift()
    const unclear = new SallyportError('store_unavailable')
    if (fault === 'before') {
      const undone = new Error('not committed')
      await store
        .transact(async (tx) => {
          await work(tx)
          throw undone
        }, options)
        .catch((error: unknown) => {
          if (error !== undone) throw error
        })
      throw unclear
    }
    const result = await store.transact(work, options)
    if (fault === 'after') throw unclear
    return result
  }
  return {
    faults,
    store: new Proxy(store, {
      get: (target, name) => (name === 'transact' ? transact : Reflect.get(target, name)),
    }),
  }
}

test('transactions one after the other share a stream, those that overlap do not', async () => {
  const recorder = await new Recorder(memory()).begin()
  await recorder.pass(2)
  await recorder.pass(1)
  expect(await pagesOf(recorder.store)).toEqual(['0 1-2', '0 3-3'])
  await recorder.journal.transact(async (_tx, page) => {
    page.note(recordedEvent(recorder.newCall()))
  })
  expect(await pagesOf(recorder.store)).toEqual(['0 1-2', '0 3-3', '0 4-4'])

  const slow = Promise.withResolvers<void>()
  const { store } = recorder
  const waiting = new Proxy(store, {
    get: (target, name) =>
      name === 'transact'
        ? async (work: (tx: Tx) => Promise<unknown>) => {
            const result = await target.transact(work)
            await slow.promise
            return result
          }
        : Reflect.get(target, name),
  })
  const other = await new Recorder(store).begin()
  const overlapping = new Recorder(waiting)
  const both = [overlapping.pass(1), overlapping.pass(1)]
  await other.pass(1)
  slow.resolve()
  await Promise.all(both)
  expect((await pagesOf(store)).slice(3).sort()).toEqual(['1 1-1', '2 1-1', '3 1-1'])
})

test('a transaction that tells nothing appends nothing', async () => {
  const recorder = await new Recorder(memory()).begin()
  expect(await recorder.journal.transact(async (tx) => tx.now())).toBeGreaterThan(0)
  expect(await pagesOf(recorder.store)).toEqual([])
})

test('what is rolled back leaves no page, and the stream goes on where it stood', async () => {
  const recorder = await new Recorder(memory()).begin()
  await recorder.pass(1)
  const thrown = new Error('changed my mind')
  const work = recorder.journal.transact(async (_tx, page) => {
    page.note(recordedEvent(recorder.newCall()))
    throw thrown
  })
  await expect(work).rejects.toBe(thrown)
  await recorder.pass(1)
  expect(await pagesOf(recorder.store)).toEqual(['0 1-1', '0 2-2'])
})

test('a page that cannot be appended takes the rows it tells of along', async () => {
  const recorder = await new Recorder(memory()).begin()
  await recorder.pass(1)
  const row = recorder.newCall()
  const work = recorder.journal.transact(async (tx, page) => {
    await tx.executions.insert([row])
    page.note({ ...recordedEvent(row), at: 1n as never })
  })
  await expect(work).rejects.toThrow(TypeError)
  expect(await recorder.store.executions.get(row.id)).toBeUndefined()
  await recorder.pass(1)
  expect(await pagesOf(recorder.store)).toEqual(['0 1-1', '0 2-2'])
})

test('a page that somebody else put in its way ends the stream, not the recording', async () => {
  const store = memory()
  const recorder = await new Recorder(store).begin()
  await recorder.pass(2)
  const [page] = await store.journal.pages(0, all, 1)
  if (!page) throw new Error('it was there')
  const { position: _, ...forged } = { ...page, first: 3, last: 3 }
  await store.transact((tx) => tx.journal.append(forged))
  await expect(recorder.pass(1)).rejects.toThrow(TypeError)
  await recorder.pass(1)
  expect(await pagesOf(store)).toEqual(['0 1-2', '0 3-3', '1 1-1'])
  const { findings } = await recorder.verify()
  expect(findings).toContainEqual({ kind: 'page_changed', stream: page.stream, sequence: 3 })
  // The checkpoint lists what this gateway appended, not what was put behind it.
  const later = new Recorder(store, { clock: () => Date.now() + 700_000 })
  expect((await later.auditor.verify()).findings).toContainEqual({
    kind: 'not_covered',
    stream: page.stream,
    sequence: 3,
  })
})

describe.each(['before', 'after'] as const)(
  'a commit whose end is unclear, %s it was done,',
  (end) => {
    test('ends its stream, and the journal is whole', async () => {
      const { faults, store } = faulty(memory())
      const recorder = await new Recorder(store).begin()
      await recorder.pass(2)
      faults.push(end)
      await expect(recorder.pass(1)).rejects.toMatchObject({ code: 'store_unavailable' })
      await recorder.pass(1)
      const unclear = end === 'after' ? ['0 3-3'] : []
      expect(await pagesOf(store)).toEqual(['0 1-2', ...unclear, '1 1-1'])
      expect(await recorder.verify()).toMatchObject({ findings: [], notYetCovered: 0 })
    })

    test('leaves nothing behind when it was the first of its stream', async () => {
      const { faults, store } = faulty(memory())
      const recorder = await new Recorder(store).begin()
      faults.push(end)
      await expect(recorder.pass(1)).rejects.toMatchObject({ code: 'store_unavailable' })
      expect(await recorder.verify()).toMatchObject({ findings: [], notYetCovered: 0 })
    })

    test('of a checkpoint loses nothing: the next one lists it again, or builds on it', async () => {
      const { faults, store } = faulty(memory())
      const recorder = await new Recorder(store).begin()
      await recorder.pass(2)
      faults.push(end)
      await expect(recorder.checkpoints.write()).rejects.toMatchObject({
        code: 'store_unavailable',
      })
      const report = await recorder.verify()
      expect(report).toMatchObject({ findings: [], notYetCovered: 0 })
      expect(report.checked.checkpoints).toBe(end === 'after' ? 2 : 1)
    })
  },
)

describe('a checkpoint', () => {
  test('is written after a thousand events', async () => {
    const recorder = await new Recorder(memory()).begin()
    const rows = await recorder.pass(999)
    expect(await recorder.store.journal.newestCheckpoint()).toBeUndefined()
    await recorder.pass(0, rows.slice(0, 1))
    await expect
      .poll(() => recorder.store.journal.newestCheckpoint())
      .toMatchObject({ sequence: 1, position: 2 })
    expect(recorder.reported).toEqual([])
  })

  test('lists what grew since it was listed, and is not written for nothing', async () => {
    const recorder = await new Recorder(memory()).begin()
    const write = async () => {
      await recorder.checkpoints.write()
      return recorder.checkpoints.newest
    }
    expect(await write()).toBeNull()
    await recorder.pass(2)
    expect(await write()).toBe(1)
    expect(await write()).toBe(1)
    await recorder.pass(1)
    expect(await Promise.all([write(), write(), write()])).toEqual([2, 2, 2])
    const made = await recorder.store.journal.checkpoints(0, all, 9)
    const contents = made.map(({ jws }) =>
      JSON.parse(Buffer.from(jws.split('.')[1] ?? '', 'base64url').toString()),
    )
    expect(contents).toMatchObject([
      { previous: null, heads: [{ sequence: 2 }] },
      { heads: [{ sequence: 3 }] },
    ])
  })

  test('also covers what a gateway that is gone left uncovered', async () => {
    const store = memory()
    const gone = await new Recorder(store).begin()
    await gone.pass(2)
    await store.transact((tx) => tx.instances.end(gone.instance))
    const alive = await new Recorder(store, { seed: 2 }).begin()
    await alive.checkpoints.write()
    expect(await alive.verify()).toMatchObject({ findings: [], notYetCovered: 0 })
    // A gateway that was only paused goes on with its streams, and covers them itself.
    await gone.begin()
    await gone.pass(1)
    await gone.checkpoints.write()
    expect(await alive.verify()).toMatchObject({ findings: [], notYetCovered: 0 })
  })
})
