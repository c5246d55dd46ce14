import type { Digest, Listing } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { Catalog, type ListingSource } from './catalog.ts'

const digest = (letter: string) => `sha256:${letter.repeat(64)}` as Digest

function listing(letter: string): Listing {
  const tool = { name: 'tool', inputSchema: {}, digest: digest(letter) }
  const about = { era: 'modern', protocolVersion: '2026-07-28', capabilities: ['tools'] } as const
  return { ...about, tools: [tool], digest: digest(letter) }
}

/** Hands out listings when the test says so. */
class Source implements ListingSource {
  readonly waiting: { resolve: (listing: Listing) => void; reject: (error: Error) => void }[] = []
  current = true
  fetches = 0

  list(): Promise<Listing> {
    this.fetches++
    return new Promise((resolve, reject) => this.waiting.push({ resolve, reject }))
  }

  isCurrent(): boolean {
    return this.current
  }

  answer(letter: string): void {
    this.waiting.shift()?.resolve(listing(letter))
  }
}

function setUp() {
  const clock = { now: 0 }
  const accepted: string[] = []
  const catalog = new Catalog({
    monotonic: () => clock.now,
    accepted: (one) => accepted.push(one.digest),
  })
  return { clock, accepted, catalog, source: new Source() }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('nothing is fresh before the first listing', () => {
  const { catalog } = setUp()
  expect(catalog.age).toBe(Number.POSITIVE_INFINITY)
  expect(catalog.isFresh(300_000)).toBe(false)
  expect(catalog.digestOf('tool')).toBeUndefined()
})

test('a listing is as old as the question, and fresh until its age is the limit', async () => {
  const { catalog, source, clock, accepted } = setUp()
  const fetched = catalog.refresh(source)
  clock.now = 400
  source.answer('a')
  await fetched
  expect(catalog.age).toBe(400)
  expect(catalog.digestOf('tool')).toBe(digest('a'))
  expect(accepted).toEqual([digest('a')])
  clock.now = 999
  expect(catalog.isFresh(1_000)).toBe(true)
  expect(catalog.isFresh(0)).toBe(false)
  clock.now = 1_000
  expect(catalog.isFresh(1_000)).toBe(false)
})

test('a second request joins the one under way', async () => {
  const { catalog, source } = setUp()
  const both = [catalog.refresh(source), catalog.refresh(source)]
  source.answer('a')
  await Promise.all(both)
  expect(source.fetches).toBe(1)
  const later = catalog.refresh(source)
  source.answer('b')
  await later
  expect(source.fetches).toBe(2)
})

test('a change that is announced during a fetch discards it; the second fetch counts', async () => {
  const { catalog, source, accepted } = setUp()
  const fetched = catalog.refresh(source)
  catalog.announceChange()
  source.answer('a')
  await turn()
  expect(accepted).toEqual([])
  source.answer('b')
  await fetched
  expect(accepted).toEqual([digest('b')])
  expect(catalog.isFresh(1_000)).toBe(true)
})

test('changed twice during fetches, it stays stale and keeps what it had', async () => {
  const { catalog, source, accepted } = setUp()
  const first = catalog.refresh(source)
  source.answer('a')
  await first
  const fetched = catalog.refresh(source)
  fetched.catch(() => {})
  for (const letter of ['b', 'c']) {
    catalog.announceChange()
    source.answer(letter)
    await turn()
  }
  await expect(fetched).rejects.toMatchObject({ code: 'catalog_unverified' })
  expect(source.fetches).toBe(3)
  expect(accepted).toEqual([digest('a')])
  expect(catalog.digestOf('tool')).toBe(digest('a'))
  expect(catalog.isFresh(1_000)).toBe(false)
})

test('a fetch that fails is not repeated and changes nothing', async () => {
  const { catalog, source, accepted } = setUp()
  const fetched = catalog.refresh(source)
  source.waiting.shift()?.reject(new Error('gone'))
  await expect(fetched).rejects.toThrow('gone')
  expect(source.fetches).toBe(1)
  expect(accepted).toEqual([])
})

test('a source that was replaced publishes nothing', async () => {
  const { catalog, source, accepted } = setUp()
  const fetched = catalog.refresh(source)
  source.current = false
  source.answer('a')
  await expect(fetched).rejects.toMatchObject({ code: 'connection_changed' })
  expect(accepted).toEqual([])
  expect(catalog.digestOf('tool')).toBeUndefined()
})

test('of two sources the one that was asked later wins, whichever answers first', async () => {
  const { catalog, source, accepted } = setUp()
  const other = new Source()
  const fetched = [catalog.refresh(source), catalog.refresh(other)]
  other.answer('b')
  await turn()
  source.answer('a')
  await Promise.all(fetched)
  expect(accepted).toEqual([digest('b')])
  expect(catalog.digestOf('tool')).toBe(digest('b'))
})
