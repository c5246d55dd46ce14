import type { Session, Store, Tx } from '@sallyport/core'
import { type IntentId, SallyportError } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aTool } from '../../packages/core/src/call/samples.ts'
import { openWorld, type World, workerDown, writeTool } from './call-world.ts'

describe.each(['memory', 'sqlite'] as const)('the way of a call on %s', (engine) => {
  let world: World

  beforeEach(async () => {
    world = await openWorld(engine)
  })
  afterEach(() => world.close())

  test('is recorded as dispatching before the worker may act, and answers with the upstream bytes', async () => {
    const outcome = world.call({ argumentsText: '{"n":1}' })
    const intent = await world.worker.intent()
    expect(world.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'commit'])
    expect(await world.row()).toMatchObject({
      state: 'dispatching',
      intentId: intent,
      workerInstance: 'worker-1',
    })
    world.answer(intent, { tookMs: 3 }, '{"content":[],"n":1.0}')
    expect(await outcome).toMatchObject({ kind: 'result', isError: false })
    expect(
      (await outcome).kind === 'result' && String(((await outcome) as { result: Buffer }).result),
    ).toBe('{"content":[],"n":1.0}')
    expect(await world.row()).toMatchObject({
      state: 'succeeded',
      code: null,
      tookMs: 3,
      resultBytes: 22,
    })
    expect(world.worker.settledIds).toEqual([intent])
  })

  test('signs what it recorded: the order names row, binding, digests, credential version and limits', async () => {
    void world.call({ argumentsText: '{"n":1}' })
    await world.worker.intent()
    const row = await world.row()
    const order = world.worker.orders[0]
    expect(JSON.parse(order?.text ?? '')).toMatchObject({
      act: 'call',
      aud: 'worker-1',
      executionId: row.id,
      sessionId: world.session.id,
      bindingHash: row.bindingHash,
      connectionRevision: 1,
      tool: 'read',
      access: 'read',
      argumentsDigest: row.argumentsDigest,
      credentialVersion: 1,
      startWithin: 15_000,
      iat: 10_000,
      exp: 25_000,
      limits: { callMs: 5_000 },
    })
    expect(order).toMatchObject({
      argumentsText: '{"n":1}',
      endpointSeal: 'endpoint-seal',
      credentialSeal: 'credential-seal',
    })
    expect(row).toMatchObject({ intentDigest: order?.digest, notAfter: 30_000 })
  })

  test('calls of one turn share one batch, and the refusal of one leaves its neighbours alone', async () => {
    const revoked = aTool({ grantDigest: `sha256:${'f'.repeat(64)}` })
    const outcomes = [world.call(), world.call({ tool: revoked }), world.call()]
    await world.worker.intent(1)
    expect(world.worker.steps.filter(({ kind }) => kind === 'send')).toHaveLength(1)
    expect(await outcomes[1]).toMatchObject({ kind: 'failure', code: 'grant_changed' })
    const states = (await world.rows()).map(({ state }) => state).sort()
    expect(states).toEqual(['dispatching', 'dispatching', 'refused'])
  })

  test('the same call id with the same arguments is one execution, in flight and afterwards', async () => {
    const twice = [world.call({ callId: 'same' }), world.call({ callId: 'same' })]
    world.answer(await world.worker.intent())
    const [first, second] = await Promise.all(twice)
    expect(second).toBe(first)
    expect(await world.call({ callId: 'same' })).toBe(first)
    expect(world.worker.orders).toHaveLength(1)
  })

  test('the same call id with other arguments is refused, here and on another gateway', async () => {
    void world.call({ callId: 'same', argumentsText: '{"n":1}' })
    await world.worker.intent()
    const other = { callId: 'same', argumentsText: '{"n":2}' }
    expect(await world.call(other)).toMatchObject({ code: 'call_id_reused' })
    expect(await world.another().call(other)).toMatchObject({ code: 'call_id_reused' })
  })

  test('the same call id for another tool is another call, and refused', async () => {
    await grantWrite(world)
    void world.call({ callId: 'same' })
    await world.worker.intent()
    const other = aTool({ id: `bnd_${'0'.repeat(25)}2` as never, tool: 'other' })
    expect(await world.call({ callId: 'same', tool: other })).toMatchObject({
      code: 'call_id_reused',
    })
    expect(await world.another().call({ callId: 'same', tool: other })).toMatchObject({
      code: 'call_id_reused',
    })
  })

  test('a call id that another gateway carries out, or carried out, is not sent again', async () => {
    const first = world.call({ callId: 'same' })
    const intent = await world.worker.intent()
    const another = world.another()
    expect(await another.call({ callId: 'same' })).toMatchObject({ code: 'call_in_flight' })
    world.answer(intent)
    await first
    await world.group.drained()
    expect(await another.call({ callId: 'same' })).toMatchObject({ code: 'outcome_not_kept' })
    expect(another.worker.orders).toHaveLength(0)
  })

  test('an identical write is refused while one is in flight, and while one is unknown', async () => {
    const write = { tool: writeTool, argumentsText: '{"by":1}' }
    await grantWrite(world)
    const first = world.call(write)
    const intent = await world.worker.intent()
    const second = world.call(write)
    void world.call({ ...write, argumentsText: '{"by":2}' })
    await world.worker.intent(1)
    world.answer(intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    expect(await first).toMatchObject({ code: 'outcome_unknown' })
    const [unknown] = (await world.rows()).filter(({ state }) => state === 'unknown')
    const told = { code: 'outcome_unknown', executionId: unknown?.id }
    expect(await second).toMatchObject(told)
    expect(await world.call(write)).toMatchObject(told)
    expect((await world.rows()).filter(({ state }) => state === 'unknown')).toHaveLength(1)
    expect(world.worker.orders).toHaveLength(2)
  })

  test('the same write again after a known outcome is a new execution', async () => {
    await grantWrite(world)
    for (const n of [0, 1]) {
      const outcome = world.call({ tool: writeTool, argumentsText: '{"by":1}' })
      world.answer(await world.worker.intent(n))
      expect((await outcome).kind).toBe('result')
      await world.group.drained()
    }
    expect(world.worker.orders).toHaveLength(2)
  })

  test('arguments that are refused never reach the barrier, and the row names the field', async () => {
    const problem = {
      ok: false,
      code: 'arguments_refused',
      field: '/n',
      detail: 'is required',
    } as const
    const tool = aTool({}, { effective: () => problem })
    expect(await world.call({ tool })).toMatchObject({
      kind: 'failure',
      field: '/n',
      detail: 'is required',
    })
    expect(await world.row()).toMatchObject({
      state: 'refused',
      field: '/n',
      argumentsDigest: null,
    })
  })

  test('a pause, a disabled connection and a closed session stop the call at the barrier', async () => {
    await world.store.transact((tx) =>
      tx.settings.set({ name: 'pause', value: { writesOnly: false, note: 'x' }, by: 'a', at: 0 }),
    )
    expect(await world.call()).toMatchObject({ code: 'paused' })
    await world.store.transact((tx) => tx.settings.unset('pause'))
    await world.store.transact((tx) => tx.sessions.move(world.session.id, ['open'], 'closing', {}))
    expect(await world.call()).toMatchObject({ code: 'session_not_open' })
    expect(world.worker.orders).toHaveLength(0)
  })

  test('a rate counts what passed in its window, within one group too', async () => {
    const tool = aTool({}, { grantLimits: { rate: { count: 2, seconds: 60 } } })
    const codes = async () => {
      const outcomes = [world.call({ tool }), world.call({ tool }), world.call({ tool })]
      return (await outcomes[2]) as { code?: string }
    }
    expect(await codes()).toMatchObject({ code: 'rate_limited' })
    world.step(61_000)
    const later = world.call({ tool })
    world.answer(await world.worker.intent(2))
    expect((await later).kind).toBe('result')
  })

  test('a cancel before the barrier wins and is recorded; after it, it is passed on as a wish', async () => {
    const before = AbortSignal.abort()
    expect(await world.call({ cancelled: before })).toMatchObject({ code: 'call_cancelled' })
    expect(await world.row()).toMatchObject({ state: 'refused', code: 'call_cancelled' })
    const after = new AbortController()
    const outcome = world.call({ cancelled: after.signal })
    const intent = await world.worker.intent()
    after.abort()
    expect(world.worker.cancelled).toEqual([intent])
    world.answer(intent)
    expect((await outcome).kind).toBe('result')
  })

  test('a cancel that comes while the barrier is committed is passed on too', async () => {
    const guest = new AbortController()
    const send = world.worker.send.bind(world.worker)
    world.worker.send = (orders) => {
      guest.abort()
      return send(orders)
    }
    void world.call({ cancelled: guest.signal })
    const intent = await world.worker.intent()
    expect(world.worker.cancelled).toEqual([intent])
  })

  test('without a worker nothing passes; one that goes away during the barrier proves that nothing was sent', async () => {
    world.worker.name = undefined
    expect(await world.call()).toMatchObject({ code: 'worker_down' })
    world.worker.name = 'worker-1'
    world.worker.failSend = workerDown()
    expect(await world.call()).toMatchObject({ code: 'worker_down' })
    expect((await world.rows()).map(({ state }) => state).sort()).toEqual(['not_sent', 'refused'])
  })

  test('keeps the first outcome: a second verdict changes nothing', async () => {
    const outcome = world.call()
    const intent = await world.worker.intent()
    world.answer(intent)
    world.answer(intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    await outcome
    expect(await world.row()).toMatchObject({ state: 'succeeded' })
  })

  test('a statement that fails for one call takes no outcome, refusal or call beside it along', async () => {
    const shaky = world.over(failingFor(world.store, 'damaged'))
    const first = shaky.call({ callId: 'first' })
    shaky.answer(await shaky.worker.intent())
    const refusing = aTool()
    const outcomes = [
      shaky.call({ callId: 'damaged' }),
      shaky.call({
        callId: 'refused',
        tool: {
          ...refusing,
          effective: () => ({ ok: false, code: 'arguments_refused', field: '/x', detail: 'no' }),
        },
      }),
      shaky.call({ callId: 'beside' }),
    ]
    expect(await outcomes[0]).toMatchObject({ code: 'row_unreadable', executionId: null })
    shaky.answer(await shaky.worker.intent(1))
    await Promise.all([first, ...outcomes])
    const states = (await shaky.rows()).map(({ callId, state }) => `${callId} ${state}`).sort()
    expect(states).toEqual(['beside succeeded', 'first succeeded', 'refused refused'])
  })

  test('a session that calls all the time never is idle, whatever its idle time', async () => {
    const session = await addSession(world, { idleMs: 60_000 })
    for (let minute = 0; minute < 3; minute++) {
      world.step(45_000)
      const outcome = world.call({ session })
      world.answer(await world.worker.intent(minute))
      expect(await outcome).toMatchObject({ kind: 'result' })
    }
  })

  test('a session that was idle for too long is not brought back by the call that is refused', async () => {
    const session = await addSession(world, { idleMs: 120_000 })
    world.step(120_000)
    for (let again = 0; again < 2; again++)
      expect(await world.call({ session })).toMatchObject({ code: 'session_not_open' })
  })

  test('a database that stays away does not keep it from ending', async () => {
    let isDown = false
    const shaky = world.over(
      new Proxy(world.store, {
        get: (target, name, receiver) =>
          name === 'transact' && isDown
            ? () => Promise.reject(new SallyportError('store_unavailable'))
            : Reflect.get(target, name, receiver),
      }),
    )
    const outcome = shaky.call()
    const intent = await shaky.worker.intent()
    isDown = true
    shaky.answer(intent)
    await outcome
    await shaky.group.drained(20)
    isDown = false
    await shaky.group.drained()
    expect(await world.row()).toMatchObject({ state: 'succeeded' })
  })

  test('draining refuses new calls and waits for those in flight', async () => {
    const outcome = world.call()
    const intent = await world.worker.intent()
    const drained = world.desk.drain(10_000)
    expect(await world.call()).toMatchObject({ code: 'shutting_down', executionId: null })
    world.answer(intent)
    await drained
    expect((await outcome).kind).toBe('result')
    expect(world.desk.inFlight).toBe(0)
  })

  test('the result of a write is kept by the worker until its outcome was flushed', async () => {
    await grantWrite(world)
    const outcome = world.call({ tool: writeTool })
    const intent = await world.worker.intent()
    world.answer(intent)
    await outcome
    await world.group.drained()
    expect(world.worker.settledIds).toEqual([])
    const { gatewayInstance } = await world.row()
    world.group.renew({ id: gatewayInstance, startedAt: 0 })
    await world.group.drained()
    expect(await world.store.instances.list()).toEqual([
      { id: gatewayInstance, startedAt: 0, leaseUntil: world.now() + 15_000 },
    ])
    expect(world.worker.settledIds).toEqual([intent])
  })
})

/** A store that cannot write the row of one call. */
function failingFor(store: Store, callId: string): Store {
  const insert =
    (executions: Tx['executions']): Tx['executions']['insert'] =>
    async (rows) => {
      if (rows.some((row) => row.callId === callId)) throw new SallyportError('row_unreadable')
      return await executions.insert(rows)
    }
  const failing = (tx: Tx): Tx =>
    replacing(tx, 'executions', () =>
      replacing(tx.executions, 'insert', () => insert(tx.executions)),
    )
  return replacing(
    store,
    'transact',
    (): Store['transact'] => (work, options) => store.transact((tx) => work(failing(tx)), options),
  )
}

/** The same object, but for one of its members. */
function replacing<T extends object, K extends keyof T>(target: T, name: K, by: () => T[K]): T {
  return new Proxy(target, {
    get: (_, asked) => {
      if (asked === name) return by()
      const value: unknown = Reflect.get(target, asked)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Another open session of the same profile, called last at this moment. */
async function addSession(world: World, change: Partial<Session>): Promise<Session> {
  const id = `${world.session.id.slice(0, -1)}x` as Session['id']
  const tokenHash = `sha256:${'5'.repeat(64)}`
  const session = { ...world.session, id, tokenHash, lastCallAt: world.now(), ...change }
  await world.store.transact((tx) => tx.sessions.insert(session))
  return session
}

/** The sample grant is for reading; a write has one of its own. */
async function grantWrite(world: World): Promise<void> {
  const { grantId } = writeTool.binding
  const grant = await world.store.grants.get(grantId)
  expect(grant?.revokedAt).toBeNull()
}

test('an intent is named once', async () => {
  const world = await openWorld('memory')
  const seen = new Set<IntentId>()
  for (let n = 0; n < 20; n++) void world.call()
  await world.worker.intent(19)
  for (const { id } of world.worker.orders) seen.add(id)
  expect(seen.size).toBe(20)
  await world.close()
})
