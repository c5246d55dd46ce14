import { expect, test } from 'vitest'
import type { AuthorizationServer } from './find-server.ts'
import { ServerCache } from './server-cache.ts'

const server = (issuer: string) => ({ issuer }) as AuthorizationServer

function stepped(): { readonly cache: ServerCache; at: number } {
  const clock = { at: 0, monotonic: () => clock.at }
  return Object.assign(clock, { cache: new ServerCache(clock) })
}

test('what was read is known until it is so old, and again once it is read again', () => {
  const world = stepped()
  const { cache } = world
  cache.put('a', server('a'))
  world.at = 999
  expect(cache.get('a', 1_000)).toEqual(server('a'))
  world.at = 1_000
  expect(cache.get('a', 1_000)).toBeUndefined()
  expect(cache.get('a', 2_000)).toBeDefined()
  cache.put('a', server('a'))
  expect(cache.get('a', 1_000)).toBeDefined()
  expect(cache.get('b', 1_000)).toBeUndefined()
})

test('that it could not be read is known beside what was read, which grows no younger', () => {
  const world = stepped()
  const { cache } = world
  cache.miss('never')
  expect(cache.get('never', Number.POSITIVE_INFINITY)).toBeUndefined()
  expect(cache.hasMissed('never', 1)).toBe(true)
  cache.put('a', server('a'))
  expect(cache.hasMissed('a', 1)).toBe(false)
  world.at = 1_000
  cache.miss('a')
  expect(cache.hasMissed('a', 1)).toBe(true)
  expect(cache.get('a', 1_000)).toBeUndefined()
  expect(cache.get('a', 1_001)).toEqual(server('a'))
  world.at = 1_500
  expect(cache.hasMissed('a', 500)).toBe(false)
  expect(cache.hasMissed('a', 501)).toBe(true)
  cache.put('a', server('a'))
  expect(cache.hasMissed('a', 501)).toBe(false)
  cache.forget('never')
  expect(cache.hasMissed('never', 10_000)).toBe(false)
})

test('places that could not be read are kept no longer than others', () => {
  const { cache } = stepped()
  for (let i = 0; i < 300; i++) cache.miss(`${i}`)
  const kept = Array.from({ length: 300 }, (_, i) => cache.hasMissed(`${i}`, 1))
  expect(kept.filter(Boolean)).toHaveLength(256)
})

test('256 are kept, those that were read last', () => {
  const { cache } = stepped()
  for (let i = 0; i < 300; i++) {
    cache.put('often', server('often'))
    cache.put(`${i}`, server(`${i}`))
  }
  const kept = Array.from({ length: 300 }, (_, i) => cache.get(`${i}`, 1) !== undefined)
  expect(kept.filter(Boolean)).toHaveLength(255)
  expect(kept.slice(45)).not.toContain(false)
  expect(cache.get('often', 1)).toBeDefined()
})
