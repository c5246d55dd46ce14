/** Outcomes of reads are recorded with what somebody waits for, or soon by themselves; those of writes at once. */
import type { Execution, Store, Tx } from '@sallyport/core'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { openWorld, type World, writeTool } from './call-world.ts'
import { until } from './held-calls.ts'

let world: World
beforeEach(async () => {
  world = await openWorld('memory')
  // Only the loop goes round: nothing happens because time has passed.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
})
afterEach(async () => {
  vi.useRealTimers()
  await world.close()
})

const companyMs = 5
const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Tells what each of its transactions does to executions, in order. */
function watched(store: Store) {
  const transactions: string[][] = []
  const noted = new Set(['insert', 'settle', 'moveCallers'])
  const watch = (tx: Tx, steps: string[]): Tx => {
    const executions = new Proxy(tx.executions, {
      get: (target, name) => {
        if (noted.has(String(name))) steps.push(String(name))
        const value = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    return new Proxy(tx, {
      get: (target, name, receiver) =>
        name === 'executions' ? executions : Reflect.get(target, name, receiver),
    })
  }
  const proxy = new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact'
        ? (...[work, options]: Parameters<Store['transact']>) => {
            const steps: string[] = []
            transactions.push(steps)
            return target.transact((tx) => work(watch(tx, steps)), options)
          }
        : Reflect.get(target, name, receiver),
  })
  return { proxy, transactions }
}

/** As they are now: `rows` of the world waits until all is recorded. */
async function rows({ store }: World): Promise<Execution[]> {
  const all = await store.executions.list({ limit: 100 })
  return all.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

const states = async (at: World): Promise<string[]> => (await rows(at)).map(({ state }) => state)

test('the outcome of a read rides with the next call', async () => {
  const { proxy, transactions } = watched(world.store)
  const gateway = world.over(proxy)
  const first = gateway.call()
  gateway.answer(await gateway.worker.intent())
  expect(await first).toMatchObject({ kind: 'result' })
  await turns()
  expect(transactions).toEqual([['insert']])
  expect(await states(gateway)).toEqual(['dispatching'])

  // The worker has its order already when the outcome of the one before is recorded.
  void gateway.call()
  await gateway.worker.intent(1)
  await turns()
  expect(transactions.slice(1)).toEqual([['insert', 'settle']])
  expect(await states(gateway)).toEqual(['succeeded', 'dispatching'])
})

test('it does not wait for long when nobody comes', async () => {
  const gateway = world.over(world.store)
  const first = gateway.call()
  gateway.answer(await gateway.worker.intent())
  await first
  await turns()
  expect(await states(gateway)).toEqual(['dispatching'])
  await vi.advanceTimersByTimeAsync(companyMs)
  await turns()
  expect(await states(gateway)).toEqual(['succeeded'])
})

test('the outcome of a write waits for nobody, nor does where its caller is', async () => {
  const gateway = world.over(world.store)
  const first = gateway.call({ tool: writeTool })
  gateway.answer(await gateway.worker.intent())
  await first
  await turns()
  expect(await rows(gateway)).toMatchObject([{ state: 'succeeded', caller: 'collected' }])
})

test('a session that ends when its last call is answered has nothing open', async () => {
  const gateway = world.over(world.store)
  const first = gateway.call()
  gateway.answer(await gateway.worker.intent())
  await first
  await gateway.desk.settleSession(gateway.session.id)
  expect(await states(gateway)).toEqual(['succeeded'])
})

test('who comes with the call id of a write that was answered waits for no company', async () => {
  const gateway = world.over(world.store)
  const call = { tool: writeTool, callId: 'toolu_1' }
  const first = gateway.call(call)
  gateway.answer(await gateway.worker.intent())
  await first
  const again = gateway.ask(call)
  await turns()
  expect(await states(gateway)).toEqual(['succeeded'])
  expect(await again).toMatchObject({ kind: 'result' })
  await until(() => gateway.worker.steps.length > 1)
  expect(gateway.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'commit'])
})

test('a drain records what waits for company before it is over', async () => {
  vi.useRealTimers()
  const gateway = world.over(world.store)
  const first = gateway.call()
  gateway.answer(await gateway.worker.intent())
  await first
  await gateway.group.drained()
  expect(await states(gateway)).toEqual(['succeeded'])
})

test('who asks what is on record hears of what was answered before', async () => {
  const gateway = world.over(world.store)
  const first = gateway.call()
  gateway.answer(await gateway.worker.intent())
  await first
  await gateway.group.caughtUp()
  expect(await states(gateway)).toEqual(['succeeded'])
  // With nothing to record there is nothing to wait for.
  await gateway.group.caughtUp()
})
