/** What is on disk before the worker may act: a crash of the process cannot show it, only a power cut could. */
import type { Store } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWorld, type World, writeTool } from './call-world.ts'
import { until } from './held-calls.ts'

let world: World
beforeEach(async () => {
  world = await openWorld('memory')
})
afterEach(() => world.close())

/** A store whose disk takes until it is told: who waits for a flush waits for that, who does not goes on. */
function slowDisk(store: Store) {
  let finish = (): void => {}
  const flushed = new Promise<void>((resolve) => {
    finish = resolve
  })
  const slow = new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact'
        ? async (...[work, options]: Parameters<Store['transact']>) => {
            const result = await target.transact(work, options)
            if (options?.flush !== 'later') await flushed
            return result
          }
        : Reflect.get(target, name, receiver),
  })
  return { slow, finish }
}

/** Enough for what must not happen: with no disk in between it would in a few. */
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

test('a write is held by the worker until its row is on disk', async () => {
  const { slow, finish } = slowDisk(world.store)
  const gateway = world.over(slow)
  void gateway.call({ tool: writeTool })
  await until(() => gateway.worker.steps.length > 0)
  await turns()
  expect(gateway.worker.steps.map(({ kind }) => kind)).toEqual(['send'])
  finish()
  await gateway.worker.intent()
  expect(gateway.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'commit'])
})

test('a read does not wait for the disk, and one beside a write waits with it', async () => {
  const { slow, finish } = slowDisk(world.store)
  const gateway = world.over(slow)
  void gateway.call()
  await gateway.worker.intent()
  expect(gateway.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'commit'])

  void gateway.call()
  void gateway.call({ tool: writeTool })
  await until(() => gateway.worker.steps.length > 2)
  await turns()
  expect(gateway.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'commit', 'send'])
  finish()
  await gateway.worker.intent(2)
  expect(gateway.worker.steps.at(-1)?.kind).toBe('commit')
})
