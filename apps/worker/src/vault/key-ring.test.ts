import { beforeEach, expect, test } from 'vitest'
import { MemorySource } from '../testing/memory-source.ts'
import { KeyRing } from './key-ring.ts'
import { makeKey } from './key-text.ts'

let now = 0
let source: MemorySource
let ring: KeyRing
let changes = 0
const first = makeKey(1)

beforeEach(async () => {
  now = 0
  changes = 0
  source = new MemorySource(first)
  ring = await KeyRing.open({ source, monotonic: () => now })
  ring.onChange(() => changes++)
})

const refused = (code: string) => expect.objectContaining({ code })
const kids = () => ring.keys.map(({ kid }) => kid)

test('holds what its source has, and tells it without the private part', () => {
  expect(kids()).toEqual([first.kid])
  const { kid, jwk } = first
  expect(ring.state).toEqual({ source: 'file', keys: [{ kid, jwk, madeAt: 1 }], retired: [] })
})

test('without a key there is no ring', async () => {
  const empty = { source: new MemorySource(), monotonic: () => 0 }
  await expect(KeyRing.open(empty)).rejects.toThrow(refused('vault_key_unusable'))
})

test('a new key seals from now on, and the old one still opens', async () => {
  const { keys } = await ring.rotate()
  expect(keys.map(({ kid }) => kid)).toEqual([ring.newest.kid, first.kid])
  expect(ring.newest.kid).not.toBe(first.kid)
  expect(changes).toBe(1)
})

test('where no key can be made, the one that somebody put there first is the new one', async () => {
  source.isFixed = true
  await expect(ring.rotate()).rejects.toThrow(refused('vault_key_fixed'))
  expect(kids()).toEqual([first.kid])
  const next = makeKey(2)
  source.keys.unshift(next)
  expect((await ring.rotate()).keys.map(({ kid }) => kid)).toEqual([next.kid, first.kid])
  await expect(ring.rotate()).rejects.toThrow(refused('vault_key_fixed'))
})

test('keys are made up to sixteen, until older ones are let go', async () => {
  for (let made = 1; made < 16; made++) await ring.rotate()
  await expect(ring.rotate()).rejects.toThrow(refused('too_many'))
  expect(source.keys).toHaveLength(16)
  await ring.retire(first.kid)
  await ring.rotate()
  expect(source.keys).toHaveLength(16)
})

test('a key that another worker made is found when somebody meets it', async () => {
  const other = source.ring()
  await other.rotate()
  expect(ring.newest.kid).toBe(first.kid)
  expect(await ring.look()).toBe(true)
  expect(ring.newest.kid).toBe(other.newest.kid)
  expect(changes).toBe(1)
  expect(await ring.look()).toBe(true)
  expect(changes).toBe(1)
})

test('a source that takes its time is not looked at all the time', async () => {
  source.restMs = 30_000
  expect(await ring.look()).toBe(true)
  const reads = source.reads
  expect(await ring.look()).toBe(false)
  now = 29_999
  expect(await ring.look()).toBe(false)
  expect(source.reads).toBe(reads)
  await ring.read()
  expect(source.reads).toBe(reads + 1)
  now = 59_999
  expect(await ring.look()).toBe(true)
})

test('many that look at once look once', async () => {
  const reads = source.reads
  await Promise.all([ring.look(), ring.read(), ring.look()])
  expect(source.reads).toBe(reads + 1)
})

test('a source that fails takes nothing away', async () => {
  source.keys = []
  expect(await ring.look()).toBe(false)
  await expect(ring.read()).rejects.toThrow(refused('vault_key_unusable'))
  expect(kids()).toEqual([first.kid])
})

test('a key that its source has lost is held on', async () => {
  const next = makeKey(2)
  source.keys = [next]
  await ring.read()
  expect(kids()).toEqual([next.kid, first.kid])
})

test('what is retired leaves its source at once, and opens what is on its way for 20 s', async () => {
  await ring.rotate()
  const state = await ring.retire(first.kid)
  expect(state).toMatchObject({ keys: [{ kid: ring.newest.kid }], retired: [first.kid] })
  expect(source.keys).toHaveLength(1)
  expect(kids()).toEqual([ring.newest.kid, first.kid])
  now = 19_999
  ring.sweep()
  expect(kids()).toContain(first.kid)
  now = 20_000
  ring.sweep()
  expect(kids()).toEqual([ring.newest.kid])
  expect(ring.retired).toEqual(new Set([first.kid]))
})

test('what another worker retired is kept as long', async () => {
  const other = source.ring()
  await other.rotate()
  await ring.read()
  await other.retire(first.kid)
  await ring.read()
  expect(ring.state).toMatchObject({ keys: [{ kid: other.newest.kid }], retired: [first.kid] })
  expect(kids()).toContain(first.kid)
  now = 20_000
  ring.sweep()
  expect(kids()).toEqual([other.newest.kid])
})

test('the key that seals is not retired, whoever orders it', async () => {
  await expect(ring.retire(first.kid)).rejects.toThrow(refused('conflict'))
  await ring.rotate()
  await expect(ring.retire(ring.newest.kid)).rejects.toThrow(refused('conflict'))
  expect(source.retired).toEqual([])
})

test('where the source cannot be written, a retired key is forgotten here alone', async () => {
  await ring.rotate()
  source.isFixed = true
  expect(await ring.retire(first.kid)).toMatchObject({ retired: [first.kid] })
  expect(source.keys).toHaveLength(2)
  await ring.read()
  expect(ring.state.keys.map(({ kid }) => kid)).toEqual([ring.newest.kid])
})
