import { type ErrorCode, SallyportError } from '@sallyport/protocol'
import { reseal, type VaultState } from '@sallyport/protocol/node'
import { beforeEach, expect, test } from 'vitest'
import { addConnection, newWorld, type World } from '../../../../tests/authority/world.ts'
import { makeKey } from '../../../worker/src/vault/key-text.ts'
import { KeyKeeper } from './key-keeper.ts'
import type { VaultPort } from './vault-port.ts'

type Key = ReturnType<typeof makeKey>

/** What several workers share. */
class KeyFile {
  keys: Key[]
  readonly retired: string[] = []

  constructor(...keys: Key[]) {
    this.keys = keys
  }
}

/** A worker that does as the real one: it holds what it saw when it looked last. */
class ScriptedVault implements VaultPort {
  readonly asked: string[] = []
  isDown = false
  refusal: { readonly id: string; readonly code: ErrorCode } | undefined
  readonly #file: KeyFile
  #keys: Key[]
  #retired: string[]

  constructor(file: KeyFile) {
    this.#file = file
    this.#keys = [...file.keys]
    this.#retired = [...file.retired]
  }

  state(): VaultState | undefined {
    if (this.isDown) return undefined
    const keys = this.#keys.map(({ kid, jwk, madeAt }) => ({ kid, jwk, madeAt }))
    return { source: 'file', keys, retired: [...this.#retired] }
  }

  async read(): Promise<VaultState> {
    this.#ask('read')
    this.#keys = [...this.#file.keys]
    this.#retired = [...this.#file.retired]
    return this.#state()
  }

  async rotate(): Promise<VaultState> {
    this.#ask('rotate')
    this.#file.keys.unshift(makeKey(this.#file.keys.length))
    this.#keys = [...this.#file.keys]
    return this.#state()
  }

  async retire(kid: string): Promise<VaultState> {
    this.#ask(`retire ${kid}`)
    this.#file.keys = this.#file.keys.filter((key) => key.kid !== kid)
    this.#file.retired.push(kid)
    this.#keys = this.#keys.filter((key) => key.kid !== kid)
    this.#retired.push(kid)
    return this.#state()
  }

  async reseal(...[{ place, seal }, toKid]: Parameters<VaultPort['reseal']>): Promise<string> {
    this.#ask('reseal')
    if (place.id === this.refusal?.id) throw new SallyportError(this.refusal.code)
    const to = this.#keys.find(({ kid }) => kid === toKid)
    if (!to) throw new SallyportError('seal_key_unknown')
    return reseal(seal, place, to, this.#keys)
  }

  #state(): VaultState {
    return this.state() as VaultState
  }

  #ask(what: string): void {
    if (this.isDown) throw new SallyportError('worker_down')
    this.asked.push(what)
  }
}

let now: number
let w: World
let file: KeyFile
let vault: ScriptedVault
let keeper: KeyKeeper
let logged: string[]
/** Called between two handfuls. */
let between: () => void

function keeperOf(at: ScriptedVault): KeyKeeper {
  const note = (_fields: object, message: string) => void logged.push(message)
  const after = (_ms: number, run: () => void) => {
    between()
    queueMicrotask(run)
    return () => {}
  }
  const clock = { now: () => now, monotonic: () => now, after }
  return new KeyKeeper({ store: w.store, vault: at, clock, log: { info: note, warn: note } })
}

beforeEach(async () => {
  now = 1_000_000
  logged = []
  between = () => {}
  const world = await newWorld()
  const first = makeKey(1)
  w = { ...world, key: first }
  file = new KeyFile(first)
  vault = new ScriptedVault(file)
  keeper = keeperOf(vault)
  await keeper.look()
  for (let n = 0; n < 10; n++)
    await addConnection(w, w.admin, { name: `c${n}`, url: 'https://x.example/', token: 't' })
})

const states = async () => (await w.store.vaultKeys.list()).map(({ kid, state }) => [kid, state])
const asks = (what: string) => vault.asked.filter((one) => one.startsWith(what)).length

test('a round without a rotation asks the worker for nothing', async () => {
  await keeper.round()
  expect(vault.asked).toEqual([])
  expect(await states()).toEqual([[w.key.kid, 'open']])
  expect(keeper.view()).toMatchObject({ sealing: { kid: w.key.kid }, stuck: [] })
})

test('after a rotation one round seals everything again, and lets the old key go', async () => {
  await keeper.rotate()
  const { sealing } = keeper.view()
  expect(sealing.kid).not.toBe(w.key.kid)
  await keeper.round()
  expect(asks('reseal')).toBe(20)
  expect(vault.asked.at(-1)).toBe(`retire ${w.key.kid}`)
  expect(await states()).toEqual([
    [sealing.kid, 'open'],
    [w.key.kid, 'retired'],
  ])
  const { length } = vault.asked
  await keeper.round()
  expect(vault.asked).toHaveLength(length)
})

test('what was sealed to the old key during a pass is found by the next one', async () => {
  await keeper.rotate()
  let added: Promise<unknown> | undefined
  between = () => {
    added ??= addConnection(w, w.admin, { name: 'late', url: 'https://x.example/', token: 't' })
  }
  await keeper.round()
  await added
  await keeper.round()
  expect((await states())[1]).toEqual([w.key.kid, 'retired'])
  expect(asks('reseal')).toBe(22)
})

test('a worker that goes away ends the round, and the next one goes on', async () => {
  await keeper.rotate()
  between = () => {
    vault.isDown = true
  }
  await keeper.round()
  expect(asks('reseal')).toBe(10)
  expect(() => keeper.view()).toThrow(expect.objectContaining({ code: 'worker_down' }))
  await keeper.round()
  between = () => {}
  vault.isDown = false
  await keeper.round()
  expect(asks('reseal')).toBe(20)
  expect((await states())[1]).toEqual([w.key.kid, 'retired'])
})

test('a gateway that stops ends its round soon', async () => {
  await keeper.rotate()
  between = () => keeper.stop()
  await keeper.round()
  expect(asks('reseal')).toBe(10)
  expect(asks('retire')).toBe(0)
})

test('what does not open keeps its key, is told, and rests a minute before it is tried again', async () => {
  const [connection] = await w.store.connections.list()
  vault.refusal = { id: connection?.id as string, code: 'seal_unreadable' }
  await keeper.rotate()
  await keeper.round()
  expect(keeper.view().stuck).toEqual([
    { kind: 'endpoint', id: connection?.id, code: 'seal_unreadable' },
  ])
  expect((await states())[1]).toEqual([w.key.kid, 'open'])
  expect(asks('retire')).toBe(0)
  const before = asks('reseal')
  now += 59_999
  await keeper.round()
  expect(asks('reseal')).toBe(before)
  vault.refusal = undefined
  now += 1
  await keeper.round()
  expect(asks('reseal')).toBe(before + 1)
  expect(keeper.view().stuck).toEqual([])
  expect((await states())[1]).toEqual([w.key.kid, 'retired'])
})

test('a failure that is neither the seal’s nor the worker’s absence is told', async () => {
  vault.refusal = { id: (await w.store.connections.list())[0]?.id as string, code: 'internal' }
  await keeper.rotate()
  await expect(keeper.round()).rejects.toMatchObject({ code: 'internal' })
})

test('another gateway has its worker look once, seals to the new key, and lets the old one go', async () => {
  const other = new ScriptedVault(file)
  const second = keeperOf(other)
  await second.look()
  await keeper.rotate()
  const { kid } = keeper.view().sealing
  await second.look()
  expect(other.asked).toEqual(['read'])
  expect(second.view().sealing.kid).toBe(kid)
  await keeper.round()
  await second.round()
  expect(other.state()?.keys.map((key) => key.kid)).toEqual([kid])
  expect(await states()).toEqual([
    [kid, 'open'],
    [w.key.kid, 'retired'],
  ])
})

test('a gateway that slept through a whole rotation does not bring the old key back', async () => {
  const other = new ScriptedVault(file)
  const second = keeperOf(other)
  await keeper.rotate()
  await keeper.round()
  await second.round()
  expect(await states()).toEqual([
    [keeper.view().sealing.kid, 'open'],
    [w.key.kid, 'retired'],
  ])
  expect(second.view().sealing.kid).toBe(keeper.view().sealing.kid)
})

test('a worker whose file never gets the new key goes on with its own, and seals nothing again', async () => {
  const apart = new ScriptedVault(new KeyFile(...file.keys))
  const second = keeperOf(apart)
  await keeper.rotate()
  await second.round()
  await second.round()
  expect(apart.asked).toEqual(['read'])
  expect(second.view().sealing.kid).toBe(w.key.kid)
  now += 600_000
  await second.round()
  expect(apart.asked).toEqual(['read', 'read'])
})

test('of two keys that a restored key file holds, the one that seals is the newest', async () => {
  await keeper.rotate()
  const { kid } = keeper.view().sealing
  const later = keeperOf(new ScriptedVault(file))
  await later.look()
  expect(later.view().sealing.kid).toBe(kid)
})

test('connections whose key is gone say so at the first look', async () => {
  const next = makeKey(2)
  const restored = new KeyFile(next)
  restored.retired.push(w.key.kid)
  const later = keeperOf(new ScriptedVault(restored))
  await later.look()
  const healths = (await w.store.connections.list()).map(({ health }) => health.code)
  expect(new Set(healths)).toEqual(new Set(['seal_key_retired']))
  expect(await states()).toEqual([
    [next.kid, 'open'],
    [w.key.kid, 'retired'],
  ])
})
