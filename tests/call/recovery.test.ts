import type { Store } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWorld, type World, writeTool } from './call-world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld('memory')
})
afterEach(() => world.close())

/** A call whose worker connection ends before its verdict. */
async function cutCall(tool = writeTool) {
  const outcome = world.call({ tool, argumentsText: '{"by":1}' })
  const intent = await world.worker.intent()
  world.recovery.lost([intent])
  return { outcome, intent }
}

test('settles what the worker still holds, and tells the caller', async () => {
  const { outcome, intent } = await cutCall()
  world.worker.recoverWith = () => ({
    state: 'result',
    result: { intent, verdict: 'result', isError: true },
    raw: '{"isError":true,"content":[]}',
  })
  await world.recovery.round()
  expect(await outcome).toMatchObject({ kind: 'result', isError: true })
  expect(await world.row()).toMatchObject({ state: 'tool_error' })
})

test('takes never_started as proof that nothing was sent', async () => {
  const { outcome } = await cutCall()
  world.worker.recoverWith = () => ({ state: 'never_started' })
  await world.recovery.round()
  expect(await outcome).toMatchObject({ code: 'not_sent' })
  expect(await world.row()).toMatchObject({ state: 'not_sent' })
})

test('waits while it runs, and gives up ten seconds after it cannot end any more', async () => {
  const { outcome } = await cutCall()
  world.worker.recoverWith = () => ({ state: 'running' })
  await world.recovery.round()
  const { notAfter } = await world.row()
  world.step((notAfter ?? 0) + 9_999 - world.now())
  await world.recovery.round()
  expect(await world.row()).toMatchObject({ state: 'dispatching' })
  world.step(1)
  await world.recovery.round()
  expect(await outcome).toMatchObject({ code: 'outcome_unknown' })
  expect(await world.row()).toMatchObject({ state: 'unknown', code: 'outcome_unknown' })
})

test('a read that nobody can answer for is lost, and may be asked again', async () => {
  const outcome = world.call()
  world.recovery.lost([await world.worker.intent()])
  world.step(60_000)
  await world.recovery.round()
  expect(await outcome).toMatchObject({ code: 'outcome_lost' })
  expect(await world.row()).toMatchObject({ state: 'lost' })
})

test('believes only the worker the intent was addressed to', async () => {
  await cutCall()
  world.worker.recoverWith = () => ({ state: 'never_started', instance: 'worker-2' })
  await world.recovery.round()
  expect(await world.row()).toMatchObject({ state: 'dispatching' })
  world.worker.name = 'worker-2'
  const asked = world.worker.asked.length
  await world.recovery.round()
  expect(world.worker.asked).toHaveLength(asked)
  expect(await world.row()).toMatchObject({ state: 'dispatching' })
})

test('does not wait for a worker whose process is proved gone', async () => {
  const { outcome } = await cutCall()
  world.worker.name = 'worker-2'
  world.gone.add('worker-1')
  await world.recovery.round()
  expect(await outcome).toMatchObject({ code: 'outcome_unknown' })
})

test('takes over the rows of a gateway without a lease, and leaves those of one that holds it', async () => {
  void world.call()
  const intent = await world.worker.intent()
  const { gatewayInstance } = await world.row()
  const lease = (leaseUntil: number) =>
    world.store.transact((tx) =>
      tx.instances.renew({ id: gatewayInstance, startedAt: 0, leaseUntil }),
    )
  const other = world.another()
  other.worker.recoverWith = () => ({ state: 'never_started' })

  await lease(world.now() + 1)
  await other.recovery.adopt()
  expect(other.recovery.size).toBe(0)

  world.step(1)
  await other.recovery.adopt()
  await other.recovery.round()
  expect(other.worker.asked).toEqual([intent])
  await other.group.drained()
  expect(await other.row()).toMatchObject({ state: 'not_sent' })
})

test('leaves the row of a gateway without a lease to one that can ask its worker, until its time is over', async () => {
  void world.call()
  await world.worker.intent()
  const { notAfter } = await world.row()
  const other = world.another()
  other.worker.name = 'worker-2'
  other.step((notAfter ?? 0) + 9_999 - other.now())
  await other.recovery.adopt()
  expect(other.recovery.size).toBe(0)
  other.step(1)
  await other.recovery.adopt()
  await other.recovery.round()
  await other.group.drained()
  expect(await other.row()).toMatchObject({ state: 'lost' })
})

test('asks for calls that wait longer than they can', async () => {
  const outcome = world.call()
  const intent = await world.worker.intent()
  world.worker.recoverWith = () => ({
    state: 'result',
    result: { intent, verdict: 'result' },
    raw: '{}',
  })
  world.step(60_000)
  await world.recovery.round()
  expect(await outcome).toMatchObject({ kind: 'result' })
})

/** A store whose transactions go through `around`. */
function proxied(
  store: Store,
  around: (transact: () => Promise<unknown>) => Promise<unknown>,
): Store {
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact'
        ? (...args: Parameters<Store['transact']>) => around(() => target.transact(...args))
        : Reflect.get(target, name, receiver),
  })
}

/** A store whose commit runs and is then not confirmed. */
function unclear(store: Store, isUnclear: () => boolean): Store {
  return proxied(store, async (transact) => {
    const result = await transact()
    if (isUnclear()) throw new SallyportError('store_unavailable')
    return result
  })
}

test('after an unclear commit the worker is told to drop the batch, and the row ends as not sent', async () => {
  let isUnclear = true
  const shaky = world.over(unclear(world.store, () => isUnclear))
  const outcome = await shaky.call({ tool: writeTool })
  expect(outcome).toMatchObject({ kind: 'failure', code: 'store_unavailable' })
  expect(shaky.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'abort'])
  isUnclear = false
  expect(await world.row()).toMatchObject({ state: 'dispatching' })
  shaky.worker.recoverWith = () => ({ state: 'never_started' })
  await shaky.recovery.round()
  await shaky.group.drained()
  expect(await world.row()).toMatchObject({ state: 'not_sent' })
})

test('an outcome that waits for the database goes before what recovery believes meanwhile', async () => {
  let isDown = false
  const shaky = world.over(
    proxied(world.store, async (transact) => {
      if (isDown) throw new SallyportError('store_unavailable')
      return await transact()
    }),
  )
  const outcome = shaky.call({ tool: writeTool })
  const intent = await shaky.worker.intent()
  shaky.recovery.lost([intent])
  isDown = true
  shaky.answer(intent)
  expect(await outcome).toMatchObject({ kind: 'result' })
  await new Promise((resolve) => setTimeout(resolve, 20))
  isDown = false
  shaky.gone.add('worker-1')
  await shaky.recovery.round()
  await shaky.group.drained()
  expect(await world.row()).toMatchObject({ state: 'succeeded' })
})

test('finds a row of its own that nothing waits for, as a commit leaves it that is done after it was given up', async () => {
  void world.call({ tool: writeTool })
  await world.worker.intent()
  const { id, ...late } = await world.row()
  await world.store.transact((tx) =>
    tx.executions.insert([
      {
        ...late,
        id: 'exe_late' as typeof id,
        callId: 'late',
        writeKey: null,
        intentId: 'int_late' as typeof late.intentId,
      },
    ]),
  )
  world.worker.recoverWith = (asked) => ({
    state: asked === 'int_late' ? 'never_started' : 'running',
  })
  await world.recovery.adopt()
  await world.recovery.round()
  expect(world.worker.asked).toEqual([])
  world.step((late.notAfter ?? 0) + 10_000 - world.now())
  await world.recovery.adopt()
  await world.recovery.round()
  await world.group.drained()
  expect(await world.store.executions.get('exe_late' as typeof id)).toMatchObject({
    state: 'not_sent',
  })
})

test('a lease that cannot be renewed is not tried again at once', async () => {
  let tries = 0
  const away = unclear(world.store, () => {
    tries++
    return true
  })
  const shaky = world.over(away)
  shaky.group.renew({ id: shaky.worker.name as never, startedAt: 0 })
  await shaky.group.drained()
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  expect(tries).toBe(1)
})
