/** Domain rule 7, part (b): an identical call of the same session takes over what its caller has left. */
import { type Execution, endSession, expireApprovals } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openWorld, type World } from './call-world.ts'
import {
  type Asked,
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

describe.each(cases)('calls whose caller has left, on %s, %s', (engine, era) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(engine)
    await renew(world)
  })
  afterEach(() => world.close())

  const leftBehind = async (call: Asked): Promise<Execution> => {
    await call.leave()
    return (await rowsOf(world))[0] ?? expect.fail('no row')
  }
  /** Settled; its answer was lost. */
  const lost = async (change = {}): Promise<Execution> => {
    const call = await askSent(world, { era, ...change })
    world.answer(call.intent, {}, raw)
    deliveryOf(await call.outcome).lost()
    return rowOf(world, call.id)
  }

  describe('an identical call takes it over', () => {
    test('while it waits for a person: nobody is asked twice, and it is sent once', async () => {
      const { id } = await leftBehind(await askHeld(world, { era }))
      const again = await askHeld(world, { era })
      expect(await rowOf(world, id)).toMatchObject({ caller: 'attached' })
      world.answer(await approveSent(world), {}, raw)
      const earlier = { finishedAt: world.now() }
      const told = { kind: 'result', executionId: id, result: Buffer.from(raw), earlier }
      expect(await again.outcome).toMatchObject(told)
      expect(await approvals(world)).toHaveLength(1)
      expect(sent(world)).toBe(1)
    })

    test('while it is approved and the worker is away', async () => {
      const first = await askHeld(world, { era })
      world.worker.name = undefined
      await decide(world, 'approve')
      await quiet(world)
      const { id } = await leftBehind(first)
      const again = await askHeld(world, { era })
      world.worker.name = 'worker-1'
      await quiet(world)
      world.answer(await world.worker.intent())
      expect(await again.outcome).toMatchObject({ kind: 'result', executionId: id, earlier: {} })
      expect(await approvals(world)).toMatchObject([{ state: 'consumed' }])
    })

    test('while it waits for one before it, which another session asked for', async () => {
      const session = await openSession(world)
      const ahead = await askSent(world, { era, session })
      const first = await askHeld(world, { era })
      await decide(world, 'approve')
      await quiet(world)
      await first.leave()
      const again = await askHeld(world, { era })
      expect(await world.rows()).toHaveLength(2)
      world.answer(ahead.intent)
      await take(world, await ahead.outcome)
      world.answer(await world.worker.intent(1))
      expect(await again.outcome).toMatchObject({ kind: 'result', earlier: {} })
    })

    test('while it is on its way', async () => {
      const first = await askSent(world, { era })
      const { id } = await leftBehind(first)
      const again = await askHeld(world, { ...unattended, era })
      world.step(5)
      world.answer(first.intent, {}, raw)
      const earlier = { finishedAt: world.now() }
      expect(await again.outcome).toMatchObject({ kind: 'result', executionId: id, earlier })
      expect(sent(world)).toBe(1)
    })

    test.each([
      ['succeeded', {}, { kind: 'result', isError: false }],
      ['failed at the upstream', { isError: true }, { kind: 'result', isError: true }],
      ['ended with a protocol error', { rpcError: true }, { code: 'upstream_error' }],
      [
        'ended with a result that is too large',
        { code: 'result_too_large' },
        { code: 'result_too_large' },
      ],
    ] as const)('after it %s, with the very same answer', async (_, head, told) => {
      const first = await askSent(world, { era })
      world.answer(first.intent, head, raw)
      const { delivery, ...answer } = (await first.outcome) as { delivery: object }
      expect(answer).toMatchObject(told)
      deliveryOf(await first.outcome).lost()
      world.step(15 * 60_000 - 1)
      const earlier = { finishedAt: 10_000 }
      expect(await world.call({ ...unattended, era })).toMatchObject({ ...answer, earlier })
      expect(sent(world)).toBe(1)
    })

    test('after a person denied it; other refusals are decided anew', async () => {
      const first = await askHeld(world, { era })
      await first.leave()
      await decide(world, 'deny')
      expect(await world.call({ ...write, era })).toMatchObject({
        code: 'approval_denied',
        earlier: {},
      })
      const second = await askHeld(world, { era })
      await second.leave()
      world.step(3_600_000)
      await expireApprovals(world, world.now())
      await askHeld(world, { era })
      expect(await statesOf(world)).toEqual([
        'refused approval_denied',
        'refused approval_expired',
        'awaiting_approval',
      ])
    })

    test('at another gateway, which then holds it', async () => {
      const { id } = await leftBehind(await askHeld(world, { era }))
      const other = world.another()
      await renew(other)
      const again = await askHeld(other, { era })
      expect(await rowOf(other, id)).toMatchObject({
        caller: 'attached',
        callerInstance: other.gateway,
      })
      other.answer(await approveSent(other))
      await quiet(world)
      expect(await again.outcome).toMatchObject({ kind: 'result', executionId: id })
      expect(sent(world, other)).toBe(1)
    })

    test('from a session that continues the one that asked', async () => {
      const { id } = await lost()
      const { chainId } = world.session
      const session = await openSession(world, { chainId, continues: world.session.id })
      expect(await world.call({ ...unattended, era, session })).toMatchObject({ executionId: id })
      expect(sent(world)).toBe(1)
    })
  })

  describe('an identical call is a new execution', () => {
    test('when the other is of another session, on its way or ended', async () => {
      await lost()
      const session = await openSession(world)
      const other = await askSent(world, { era, session })
      await other.leave()
      const third = await askHeld(world, { ...unattended, era, session: await openSession(world) })
      world.answer(other.intent)
      await quiet(world)
      expect(await third.outcome).toMatchObject({ executionId: other.id })
      expect(await rowsOf(world)).toHaveLength(3)
    })

    test('when the other ended a quarter of an hour ago', async () => {
      await lost()
      world.step(15 * 60_000)
      const again = await askSent(world, { era })
      world.answer(again.intent)
      expect(await again.outcome).not.toHaveProperty('earlier')
      expect(sent(world)).toBe(2)
    })

    test('when the answer of the other was collected: a legitimate repetition runs', async () => {
      for (let time = 0; time < 3; time++) {
        const call = await askSent(world, { era })
        world.answer(call.intent)
        await take(world, await call.outcome)
      }
      expect(sent(world)).toBe(3)
      expect(await statesOf(world)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    })

    test('with an approval of its own', async () => {
      const first = await askHeld(world, { era })
      world.answer(await approveSent(world))
      await take(world, await first.outcome)
      const second = await askHeld(world, { era })
      expect((await approvals(world)).map(({ state }) => state)).toEqual(['consumed', 'pending'])
      await quiet(world)
      expect(sent(world)).toBe(1)
      world.answer(await approveSent(world))
      expect(await second.outcome).not.toHaveProperty('earlier')
    })

    test('when the other proved not to have been sent', async () => {
      const first = await askSent(world, { era })
      await first.leave()
      world.answer(first.intent, { verdict: 'not_sent', code: 'tool_changed' })
      await quiet(world)
      const again = await askSent(world, { era })
      expect(again.id).not.toBe(first.id)
    })
  })

  describe('the answer', () => {
    test('is collected when it was written; a reset makes it come again, as often as it is lost', async () => {
      const call = await askSent(world, { era })
      world.answer(call.intent, {}, raw)
      let outcome = await call.outcome
      for (let time = 0; time < 3; time++) {
        deliveryOf(outcome).collected()
        expect(await rowOf(world, call.id)).toMatchObject({
          caller: 'collected',
          collectedAt: world.now(),
        })
        deliveryOf(outcome).lost()
        expect(await rowOf(world, call.id)).toMatchObject({ caller: 'detached', collectedAt: null })
        outcome = await world.ask({ ...unattended, era })
        expect(outcome).toMatchObject({ executionId: call.id, earlier: {} })
      }
      await take(world, outcome)
      await askSent(world, { era })
      expect(sent(world)).toBe(2)
    })

    test('that is lost after another has taken it over stays with that one', async () => {
      const call = await askSent(world, { era })
      world.answer(call.intent, {}, raw)
      const outcome = await call.outcome
      deliveryOf(outcome).lost()
      const other = world.another()
      await renew(other)
      await take(other, await other.ask({ ...unattended, era }))
      deliveryOf(outcome).lost()
      expect(await rowOf(world, call.id)).toMatchObject({ caller: 'collected' })
    })

    test('goes to one of two that come at once; the other is a new execution', async () => {
      const { id } = await lost()
      const other = world.another()
      await renew(other)
      const both = [world.call({ ...unattended, era }), other.call({ ...unattended, era })]
      const first = await Promise.race(both)
      expect(first).toMatchObject({ executionId: id })
      await quiet(world, other)
      expect(sent(world, other)).toBe(1 + 1)
      const second = sent(world) === 2 ? world : other
      second.answer(await second.worker.intent(sent(second) - 1))
      const outcomes = await Promise.all(both)
      expect(outcomes.filter(({ executionId }) => executionId === id)).toHaveLength(1)
    })

    test('is nothing to the same call of somebody else', async () => {
      await lost()
      const { userId: ownerId } = await addUser(world)
      const { chainId } = world.session
      const session = await openSession(world, { ownerId, chainId })
      const call = await askSent(world, { era, session })
      world.answer(call.intent)
      expect(await call.outcome).not.toHaveProperty('earlier')
    })
  })

  test('the oldest of several is taken over first', async () => {
    const one = await askHeld(world, { era })
    const two = await askHeld(world, { era })
    await Promise.all([one.leave(), two.leave()])
    const [first, second] = await rowsOf(world)
    await askHeld(world, { era })
    expect(await rowOf(world, first?.id as never)).toMatchObject({ caller: 'attached' })
    await askHeld(world, { era })
    expect(await rowOf(world, second?.id as never)).toMatchObject({ caller: 'attached' })
    expect(await approvals(world)).toHaveLength(2)
  })

  test('who came before its first caller was seen to leave is the caller of that one: one decision, one effect', async () => {
    const first = await askHeld(world, { era })
    const second = await askHeld(world, { era })
    await first.leave()
    await quiet(world)
    const [older, younger] = await rowsOf(world)
    expect(older).toMatchObject({ state: 'awaiting_approval', caller: 'attached' })
    expect(younger).toMatchObject({ state: 'refused', code: 'answered_by_earlier' })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['pending', 'cancelled'])
    world.answer(await approveSent(world), {}, raw)
    expect(await second.outcome).toMatchObject({
      kind: 'result',
      executionId: older?.id,
      earlier: { finishedAt: world.now() },
    })
    expect(sent(world)).toBe(1)
  })

  test('in another session it is a call of its own', async () => {
    const first = await askHeld(world, { era })
    await askHeld(world, { era, session: await openSession(world) })
    await first.leave()
    await quiet(world)
    const [, other] = await rowsOf(world)
    expect(other).toMatchObject({ state: 'awaiting_approval', caller: 'attached' })
  })

  test('what was taken over and left again is taken over again', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const second = await askHeld(world, { era })
    await second.leave()
    const third = await askHeld(world, { era })
    world.answer(await approveSent(world))
    expect(await third.outcome).toMatchObject({ kind: 'result' })
    expect(await approvals(world)).toHaveLength(1)
  })

  test('whoever takes a call over may cancel it', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const { executionId } = await pending(world)
    const second = await askHeld(world, { era })
    second.cancel()
    expect(await second.outcome).toMatchObject({ code: 'call_cancelled', executionId })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled'])
  })

  test('approved calls that are taken over have a minute again', async () => {
    const first = await askHeld(world, { era })
    world.worker.name = undefined
    await decide(world, 'approve')
    await first.leave()
    world.step(59_000)
    const second = await askHeld(world, { era })
    world.step(59_000)
    await quiet(world)
    expect(await statesOf(world)).toEqual(['approved'])
    world.worker.name = 'worker-1'
    await quiet(world)
    world.answer(await world.worker.intent())
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })

  test('a session that ended hands nothing that waited to the one that continues it', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const { chainId } = world.session
    const session = await openSession(world, { chainId, continues: world.session.id })
    await endSession(world, world.desk, world.owner, world.session.id)
    expect(await statesOf(world)).toEqual(['refused session_not_open'])
    const second = await askHeld(world, { era, session })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled', 'pending'])
    world.answer(await approveSent(world))
    expect(await second.outcome).not.toHaveProperty('earlier')
    expect(sent(world)).toBe(1)
  })
})
