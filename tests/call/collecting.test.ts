/** Answers that say that a call waits, and how its outcome is come for: by the same arguments, by its id, by its call id. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type CallOutcome, resolveExecution, type Store } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openWorld, readTool, type World } from './call-world.ts'
import {
  addUser,
  approvals,
  approveSent,
  askHeld,
  askSent,
  decide,
  deliveryOf,
  type Era,
  eras,
  openSession,
  outlive,
  pending,
  quiet,
  renew,
  rowOf,
  rowsOf,
  sent,
  statesOf,
  take,
  unattended,
  write,
} from './held-calls.ts'

const engines = ['memory', 'sqlite'] as const
const cases = engines.flatMap((engine) => eras.map((era): [Engine, Era] => [engine, era]))
const raw = '{"content":[],"n":1}'

/** Its transactions begin so many milliseconds late. */
function delayed(store: Store, ms: number): Store {
  return new Proxy(store, {
    get: (target, name, receiver) =>
      name === 'transact'
        ? async (...args: Parameters<Store['transact']>) => {
            await sleep(ms)
            return await target.transact(...args)
          }
        : Reflect.get(target, name, receiver),
  })
}

interface Collecting {
  readonly outcome: Promise<CallOutcome>
  readonly left: AbortController
  readonly cancelled: AbortController
}

describe.each(cases)('collecting on %s, %s', (engine, era) => {
  let world: World
  /** `holdSeconds` 0: who waits is told so at once. */
  const open = async (holdSeconds = 300): Promise<void> => {
    world = await openWorld(engine, { settings: { holdSeconds } })
    await renew(world)
  }
  afterEach(() => world.close())

  const collect = (id: string, change = {}, at = world): Promise<CallOutcome> =>
    at.desk.collect({ session: at.session, era, executionId: id, ...change })
  /** Resolves once it waits. */
  const collectHeld = async (id: string, at = world): Promise<Collecting> => {
    const [left, cancelled] = [new AbortController(), new AbortController()]
    const { promise, resolve } = Promise.withResolvers<'held'>()
    const signals = { left: left.signal, cancelled: cancelled.signal }
    const outcome = collect(id, { ...signals, held: () => resolve('held') }, at)
    expect(await Promise.race([promise, outcome])).toBe('held')
    return { outcome, left, cancelled }
  }

  describe('when the hold is over', () => {
    beforeEach(() => open(0))

    test('the answer says that a person decides, and what to come for', async () => {
      const outcome = await world.ask({ ...write, era })
      const { executionId } = await pending(world)
      expect(outcome).toEqual({ kind: 'waiting', executionId, for: 'person' })
      const caller = era === 'legacy' ? 'detached' : 'held_back'
      expect(await rowOf(world, executionId)).toMatchObject({ state: 'awaiting_approval', caller })
    })

    test('the answer says that an identical call goes first, or that it is on its way', async () => {
      const first = await askSent(world, { era })
      const session = await openSession(world)
      const queued = await world.ask({ ...unattended, era, session })
      expect(queued).toMatchObject({ kind: 'waiting', for: 'identical_call' })
      await first.leave()
      const again = await world.ask({ ...unattended, era })
      expect(again).toEqual({ kind: 'waiting', executionId: first.id, for: 'answer' })
    })

    test('nobody is asked again, however often the same arguments come', async () => {
      for (let time = 0; time < 3; time++)
        expect(await world.ask({ ...write, era })).toMatchObject({ kind: 'waiting' })
      expect(await approvals(world)).toHaveLength(1)
    })

    if (era === 'legacy')
      test('approved then, it is sent without its caller, and its outcome is come for', async () => {
        const { executionId } = await world.ask({ ...write, era })
        world.answer(await approveSent(world), {}, raw)
        await quiet(world)
        const outcome = await world.call({ ...write, era })
        expect(outcome).toMatchObject({ kind: 'result', executionId, earlier: {} })
        expect(sent(world)).toBe(1)
      })

    if (era === 'modern')
      test('approved then, it is not sent before somebody comes for it', async () => {
        const { executionId } = await world.ask({ ...write, era })
        await decide(world, 'approve')
        await quiet(world)
        expect(sent(world)).toBe(0)
        const again = world.ask({ ...write, era })
        world.answer(await world.worker.intent())
        const outcome = await again
        await quiet(world)
        expect(await statesOf(world)).toEqual(['succeeded'])
        expect(outcome).toMatchObject({ kind: 'result', executionId })
      })

    if (era === 'modern')
      test('a barrier that takes longer than the hold is waited for', async () => {
        const slow = world.over(delayed(world.store, 40))
        await renew(slow)
        const { executionId } = await slow.ask({ ...write, era })
        await decide(world, 'approve')
        const again = slow.ask({ ...write, era })
        slow.answer(await slow.worker.intent())
        expect(await again).toMatchObject({ kind: 'result', executionId })
      })

    test('an identical call that comes at once finds that the other has left', async () => {
      const first = await world.ask({ ...write, era })
      const second = await world.ask({ ...write, era })
      expect(second.executionId).toBe(first.executionId)
    })

    test('a call id that comes again is the same execution', async () => {
      const first = await world.ask({ ...write, era, callId: 'a' })
      const second = await world.ask({ ...write, era, callId: 'a' })
      expect(second).toMatchObject({ kind: 'waiting', executionId: first.executionId })
      expect(await approvals(world)).toHaveLength(1)
    })
  })

  describe('by its id', () => {
    beforeEach(() => open())

    test('what waits for a person: it is held, sent once when approved, and told as an earlier one', async () => {
      const first = await askHeld(world, { era })
      const { executionId } = await pending(world)
      await first.leave()
      const { outcome } = await collectHeld(executionId)
      world.answer(await approveSent(world), {}, raw)
      const told = await outcome
      expect(told).toMatchObject({ kind: 'result', executionId, earlier: {} })
      await take(world, told)
      expect(await rowOf(world, executionId)).toMatchObject({ caller: 'collected' })
      expect(sent(world)).toBe(1)
    })

    test('what was approved while nobody was there', async () => {
      const first = await askHeld(world, { era: 'modern' })
      const { executionId } = await pending(world)
      await first.leave()
      await decide(world, 'approve')
      const { outcome } = await collectHeld(executionId)
      world.answer(await world.worker.intent())
      expect(await outcome).toMatchObject({ kind: 'result', executionId })
    })

    test('what is on its way, and what has ended', async () => {
      for (const when of ['before', 'after']) {
        const call = await askSent(world, { era })
        await call.leave()
        if (when === 'after') world.answer(call.intent, {}, raw)
        await quiet(world)
        const outcome = collect(call.id)
        if (when === 'before') world.answer(call.intent, {}, raw)
        const told = await outcome
        expect(told).toMatchObject({ kind: 'result', result: Buffer.from(raw), earlier: {} })
        await take(world, told)
      }
      expect(sent(world)).toBe(2)
    })

    test('once: what was collected is said to be collected, and the key is free', async () => {
      const call = await askSent(world, { era })
      world.answer(call.intent)
      await take(world, await call.outcome)
      expect(await collect(call.id)).toMatchObject({ code: 'already_collected' })
      await askSent(world, { era })
    })

    test('again when that answer was lost', async () => {
      const call = await askSent(world, { era })
      await call.leave()
      world.answer(call.intent)
      await quiet(world)
      deliveryOf(await collect(call.id)).lost()
      await world.group.drained()
      expect(await collect(call.id)).toMatchObject({ kind: 'result', executionId: call.id })
    })

    test('not while its own caller is there', async () => {
      const call = await askSent(world, { era })
      expect(await collect(call.id)).toMatchObject({ code: 'call_in_flight' })
      world.answer(call.intent)
      expect(await call.outcome).toMatchObject({ kind: 'result' })
    })

    test('only from its own session, or one that continues it', async () => {
      const call = await askSent(world, { era })
      await call.leave()
      world.answer(call.intent)
      await quiet(world)
      const { chainId } = world.session
      const { userId: ownerId } = await addUser(world)
      for (const change of [{}, { ownerId }, { ownerId, chainId }]) {
        const session = await openSession(world, change)
        expect(await collect(call.id, { session })).toMatchObject({ code: 'not_found' })
      }
      for (const none of [world.ids('execution'), 'exe_1', '', 'apr_1'])
        expect(await collect(none)).toMatchObject({ code: 'not_found', executionId: null })
      const session = await openSession(world, { chainId, continues: world.session.id })
      expect(await collect(call.id, { session })).toMatchObject({ kind: 'result' })
    })

    test('refusals and denials are told as they were', async () => {
      const denied = await askHeld(world, { era })
      const [one] = await approvals(world)
      await decide(world, 'deny')
      await take(world, await denied.outcome)
      const cancelled = await askHeld(world, { era })
      cancelled.cancel()
      const { executionId } = await cancelled.outcome
      expect(await collect(executionId ?? '')).toMatchObject({ code: 'call_cancelled' })
      expect(await collect(one?.executionId ?? '')).toMatchObject({ code: 'already_collected' })
    })

    test('a read has nothing to be come for, but what is kept of it', async () => {
      const call = await askSent(world, { era, tool: readTool })
      expect(await collect(call.id)).toMatchObject({ code: 'call_in_flight' })
      world.answer(call.intent)
      await call.outcome
      await world.group.drained()
      expect(await collect(call.id)).toMatchObject({ code: 'outcome_not_kept' })
    })

    test('taking the wait back takes nothing else back, before the barrier and after it', async () => {
      const first = await askHeld(world, { era })
      const { executionId } = await pending(world)
      await first.leave()
      const one = await collectHeld(executionId)
      one.cancelled.abort()
      expect(await one.outcome).toMatchObject({ code: 'call_cancelled' })
      expect(await statesOf(world)).toEqual(['awaiting_approval'])

      const two = await collectHeld(executionId)
      const wished = world.worker.cancelled.length
      const intent = await approveSent(world)
      two.cancelled.abort()
      two.left.abort()
      expect(world.worker.cancelled.slice(wished)).toEqual([])
      await world.group.drained()
      expect(await rowOf(world, executionId)).toMatchObject({ caller: 'detached' })
      world.answer(intent)
      await quiet(world)
      expect(await collect(executionId)).toMatchObject({ kind: 'result', executionId })
    })

    test('what an earlier one answered leads to that one', async () => {
      const first = await askSent(world, { era: 'legacy' })
      const second = await askHeld(world, { ...unattended, era: 'legacy' })
      await second.leave()
      await first.leave()
      world.answer(first.intent)
      await quiet(world)
      const [, row] = await rowsOf(world)
      expect(row).toMatchObject({ code: 'answered_by_earlier' })
      expect(await collect(row?.id ?? '')).toMatchObject({ kind: 'result', executionId: first.id })
    })

    test('a resolution', async () => {
      const call = await askSent(world, { era })
      world.answer(call.intent, { verdict: 'uncertain' })
      await call.outcome
      await world.group.drained()
      expect(await collect(call.id)).toMatchObject({ code: 'outcome_unknown' })
      await resolve(call.id)
      const told = await collect(call.id)
      expect(told).toMatchObject({ code: 'resolved_not_applied', executionId: call.id })
      await take(world, told)
      await askSent(world, { era })
    })
  })

  const resolve = (id: ExecutionId, allowRetry = false) => {
    const said = { outcome: 'not_applied', note: '', allowRetry } as const
    return resolveExecution(world, world.owner, id, said)
  }

  describe('by its call id', () => {
    beforeEach(() => open())
    const same = (change = {}) => ({ ...unattended, era, callId: 'a', ...change })

    test('while it waits, is on its way, and after it has ended: one execution, one answer', async () => {
      const first = await askHeld(world, { ...same(), ...write })
      const twice = world.ask({ ...same(), ...write })
      const intent = await approveSent(world)
      const thrice = world.ask({ ...same(), ...write })
      world.answer(intent)
      const told = await first.outcome
      for (const outcome of [twice, thrice]) expect(await outcome).toBe(told)
      await take(world, told)
      expect(await world.ask({ ...same(), ...write })).toMatchObject({ kind: 'result' })
      expect(await rowsOf(world)).toHaveLength(1)
      expect(sent(world)).toBe(1)
    })

    test('at another gateway, and after a restart', async () => {
      const call = await askSent(world, same())
      const other = world.another()
      await renew(other)
      expect(await other.ask(same())).toMatchObject({
        code: 'call_in_flight',
        executionId: call.id,
      })
      world.answer(call.intent, {}, raw)
      await call.outcome
      await world.group.drained()
      world.die()
      await outlive(world, other)
      const told = await other.ask(same())
      expect(told).toMatchObject({ kind: 'result', executionId: call.id, result: Buffer.from(raw) })
      await take(other, told)
      expect(await other.ask(same())).toMatchObject({ kind: 'result', executionId: call.id })
      expect(await other.another().ask(same())).toMatchObject({ executionId: call.id })
      expect(sent(world, other)).toBe(1)
    })

    test('a call that waited when its gateway died is asked once, and sent by the next one', async () => {
      await askHeld(world, { ...same(), ...write })
      world.die()
      const other = world.another()
      await outlive(world, other)
      const again = await askHeld(other, { ...same(), ...write })
      expect(await approvals(other)).toHaveLength(1)
      other.answer(await approveSent(other))
      expect(await again.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world, other)).toBe(1)
    })

    test('other arguments are refused, here, elsewhere and after a restart', async () => {
      await askSent(world, same())
      const other = same({ argumentsText: '{"by":2}' })
      const another = world.another()
      for (const at of [world, another])
        expect(await at.ask(other)).toMatchObject({ code: 'call_id_reused' })
      world.die()
      await outlive(world, another)
      expect(await another.another().ask(other)).toMatchObject({ code: 'call_id_reused' })
      expect(sent(world, another)).toBe(1)
    })

    test('of another session it is another call', async () => {
      await askSent(world, same())
      const other = await askSent(world, {
        ...same({ argumentsText: '{"by":2}' }),
        session: await openSession(world),
      })
      world.answer(other.intent)
      expect(await other.outcome).toMatchObject({ kind: 'result', executionId: other.id })
    })

    test('who left and comes again at once is its caller again', async () => {
      const first = await askHeld(world, { ...same(), ...write })
      first.left.abort()
      const second = await askHeld(world, { ...same(), ...write })
      world.answer(await approveSent(world))
      expect(await second.outcome).toMatchObject({ kind: 'result' })
      await take(world, await second.outcome)
      expect((await rowsOf(world)).map(({ caller }) => caller)).toEqual(['collected'])
      expect(sent(world)).toBe(1)
    })

    test('who left as its answer came and comes again before that is recorded is its caller; what is asked then runs', async () => {
      const call = await askSent(world, same())
      call.left.abort()
      world.answer(call.intent, {}, raw)
      await call.outcome
      const again = await world.ask(same())
      expect(again).toMatchObject({ kind: 'result', executionId: call.id, earlier: {} })
      await take(world, again)
      expect(await rowOf(world, call.id)).toMatchObject({ caller: 'collected' })
      const repeated = await askSent(world, same({ callId: 'b' }))
      world.answer(repeated.intent)
      expect(await repeated.outcome).not.toHaveProperty('earlier')
      expect(sent(world)).toBe(2)
    })

    test('two that hold its answer open: when the first leaves, the second is its caller', async () => {
      const first = await askHeld(world, { ...same(), ...write })
      const { executionId } = await pending(world)
      const second = world.ask({ ...same(), ...write })
      await first.leave()
      await quiet(world)
      expect(await rowOf(world, executionId)).toMatchObject({ caller: 'attached' })
      world.answer(await approveSent(world))
      const told = await second
      expect(told).toMatchObject({ kind: 'result', executionId })
      await take(world, told)
      expect(await rowOf(world, executionId)).toMatchObject({ caller: 'collected' })
    })

    test('when its answer was lost and came again, a repetition with another call id runs', async () => {
      const call = await askSent(world, same())
      world.answer(call.intent)
      const told = await call.outcome
      deliveryOf(told).collected()
      deliveryOf(told).lost()
      await world.group.drained()
      const again = await world.ask(same())
      expect(again).toMatchObject({ kind: 'result', executionId: call.id })
      await take(world, again)
      const repeated = await askSent(world, same({ callId: 'b' }))
      world.answer(repeated.intent)
      expect(await repeated.outcome).not.toHaveProperty('earlier')
      expect(sent(world)).toBe(2)
    })

    test('after its unknown outcome was resolved it is told the resolution', async () => {
      const call = await askSent(world, same())
      world.answer(call.intent, { verdict: 'uncertain' })
      expect(await call.outcome).toMatchObject({ code: 'outcome_unknown' })
      await world.group.drained()
      expect(await world.ask(same())).toMatchObject({ code: 'outcome_unknown' })
      await resolve(call.id)
      expect(await world.ask(same())).toMatchObject({
        code: 'resolved_not_applied',
        executionId: call.id,
      })
    })

    test('after a retry of it was allowed it is still that call, and sends nothing', async () => {
      const call = await askSent(world, same())
      world.answer(call.intent, { verdict: 'uncertain' })
      await call.outcome
      await world.group.drained()
      await resolve(call.id, true)
      expect(await world.ask(same())).toMatchObject({
        code: 'resolved_not_applied',
        executionId: call.id,
      })
      await askSent(world, same({ callId: 'b' }))
      expect(sent(world)).toBe(2)
    })

    test('it gets its own outcome, not that of an identical call that was left', async () => {
      const other = await askHeld(world, { ...same({ callId: 'b' }), ...write })
      const mine = await askHeld(world, { ...same(), ...write })
      const [theirs, own] = await rowsOf(world)
      await Promise.all([other.leave(), mine.leave()])
      world.die()
      const next = world.another()
      await outlive(world, next)
      const again = await askHeld(next, { ...same(), ...write })
      expect(await rowOf(next, own?.id as ExecutionId)).toMatchObject({ caller: 'attached' })
      expect(await rowOf(next, theirs?.id as ExecutionId)).not.toMatchObject({ caller: 'attached' })
      again.cancel()
      expect(await again.outcome).toMatchObject({ code: 'call_cancelled', executionId: own?.id })
    })
  })

  describe('when the gateway shuts down', () => {
    beforeEach(() => open())

    test('those that wait are told to come again, and another gateway has them', async () => {
      const first = await askHeld(world, { era })
      const queue = await askSent(world, { era, argumentsText: '{"by":2}' })
      const second = await askHeld(world, { ...unattended, era, argumentsText: '{"by":2}' })
      const drained = world.desk.drain(10_000)
      const { executionId } = await pending(world)
      expect(await first.outcome).toEqual({ kind: 'waiting', executionId, for: 'person' })
      expect(await second.outcome).toMatchObject({ kind: 'waiting', for: 'identical_call' })
      expect(await world.ask({ ...write, era })).toMatchObject({ code: 'shutting_down' })
      expect(await collect(executionId)).toMatchObject({ code: 'shutting_down' })
      world.answer(queue.intent)
      await drained
      expect(await queue.outcome).toMatchObject({ kind: 'result' })
      await world.group.drained()
      world.die()
      const other = world.another()
      await renew(other)
      const again = await askHeld(other, { era })
      other.answer(await approveSent(other))
      expect(await again.outcome).toMatchObject({ kind: 'result', executionId })
      expect(await approvals(other)).toHaveLength(1)
    })

    test('it does not wait for callers that have left', async () => {
      const first = await askHeld(world, { era })
      await first.leave()
      await askHeld(world, { era })
      await world.desk.drain(10_000)
      expect(world.desk.inFlight).toBe(0)
    })
  })

  test('at most 8 calls of a session wait for a person; a call that takes over is none of them', async () => {
    await open()
    const calls = []
    for (let n = 0; n < 8; n++)
      calls.push(await askHeld(world, { era, argumentsText: `{"n":${n}}` }))
    const ninth = { ...write, era, argumentsText: '{"n":8}' }
    expect(await world.ask(ninth)).toMatchObject({ code: 'too_many_approvals' })
    await calls[0]?.leave()
    await askHeld(world, { era, argumentsText: '{"n":0}' })
    expect(await world.ask(ninth)).toMatchObject({ code: 'too_many_approvals' })
    const elsewhere = await askHeld(world, { ...ninth, session: await openSession(world) })
    elsewhere.cancelled.abort()
    calls[1]?.cancelled.abort()
    await calls[1]?.outcome
    await askHeld(world, ninth)
    expect(sent(world)).toBe(0)
  })
})
