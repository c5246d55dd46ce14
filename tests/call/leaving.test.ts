/** Domain rule 6: leaving and cancelling. */
import { expireApprovals } from '@sallyport/core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openWorld, type World } from './call-world.ts'
import {
  approvals,
  approveSent,
  askHeld,
  askSent,
  decide,
  type Era,
  eras,
  executionOf,
  openSession,
  outlive,
  pending,
  quiet,
  renew,
  rowOf,
  rowsOf,
  sent,
  statesOf,
  unattended,
  write,
} from './held-calls.ts'

let world: World
const on = (engine: Engine) => () => {
  beforeEach(async () => {
    world = await openWorld(engine)
    await renew(world)
  })
  afterEach(() => world.close())
  describe.each(eras)('in the %s era', cancelling)
  describe('in the legacy eras', legacy)
  describe('in 2026-07-28', modern)
}
describe.each<Engine>(['memory', 'sqlite'])('on %s', (engine) => on(engine)())

function cancelling(era: Era) {
  test('before the barrier a cancellation wins: at once, and whatever a person says afterwards', async () => {
    const { outcome, cancel } = await askHeld(world, { era })
    const { id, executionId } = await pending(world)
    cancel()
    expect(await outcome).toMatchObject({ code: 'call_cancelled', executionId })
    expect(await rowOf(world, executionId)).toMatchObject({ state: 'refused', caller: null })
    await expect(decide(world, 'approve', id)).rejects.toMatchObject({ code: 'approval_settled' })
    await quiet(world)
    expect(sent(world)).toBe(0)
  })

  test('before the barrier a cancellation is durable: another gateway finds it cancelled', async () => {
    const { outcome, cancel } = await askHeld(world, { era, callId: 'a' })
    cancel()
    await outcome
    const again = world.another()
    expect(await again.ask({ ...write, era, callId: 'a' })).toMatchObject({
      code: 'call_cancelled',
    })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled'])
  })

  test('a cancellation while it is approved and the worker is away wins', async () => {
    const { outcome, cancel } = await askHeld(world, { era })
    world.worker.name = undefined
    await decide(world, 'approve')
    await quiet(world)
    cancel()
    expect(await outcome).toMatchObject({ code: 'call_cancelled' })
    world.worker.name = 'worker-1'
    await quiet(world)
    expect(sent(world)).toBe(0)
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled'])
  })

  test('a cancellation while an identical call goes first wins', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { ...unattended, era })
    second.cancel()
    expect(await second.outcome).toMatchObject({ code: 'call_cancelled' })
    world.answer(first.intent)
    await first.outcome
    await quiet(world)
    expect(sent(world)).toBe(1)
  })

  test('a call that was cancelled before it came to the barrier asks nobody', async () => {
    const outcome = await world.ask({ ...write, era, cancelled: AbortSignal.abort() })
    expect(outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await approvals(world)).toEqual([])
  })

  test('after the barrier a cancellation is a wish: the worker hears of it, and the outcome is what it is', async () => {
    const { outcome, cancel } = await askHeld(world, { era })
    const intent = await approveSent(world)
    cancel()
    expect(world.worker.cancelled).toEqual([intent])
    world.answer(intent)
    expect(await outcome).toMatchObject({ kind: 'result' })
    expect(await statesOf(world)).toEqual(['succeeded'])
  })

  test('the wish of whoever took a call over after the barrier is heard too', async () => {
    const first = await askSent(world, { era })
    await first.leave()
    const before = world.worker.cancelled.length
    const second = await askHeld(world, { ...unattended, era })
    second.cancel()
    expect(world.worker.cancelled.slice(before)).toEqual([first.intent])
    world.answer(first.intent)
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })

  test('a call that waits is cancelled, its neighbour with other arguments is not', async () => {
    const one = await askHeld(world, { era })
    const other = await askHeld(world, { era, argumentsText: '{"by":2}' })
    one.cancel()
    expect(await one.outcome).toMatchObject({ code: 'call_cancelled' })
    world.answer(await approveSent(world))
    expect(await other.outcome).toMatchObject({ kind: 'result' })
    expect(sent(world)).toBe(1)
  })
}

function legacy() {
  const era = 'legacy'

  test('a closed stream detaches the call, and it goes on: approved, it is sent without its caller', async () => {
    const { leave } = await askHeld(world, { era })
    const { executionId } = await pending(world)
    await leave()
    expect(await rowOf(world, executionId)).toMatchObject({
      state: 'awaiting_approval',
      caller: 'detached',
    })
    world.answer(await approveSent(world))
    await quiet(world)
    expect(await rowOf(world, executionId)).toMatchObject({
      state: 'succeeded',
      caller: 'detached',
    })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['consumed'])
    expect(sent(world)).toBe(1)
  })

  test('a call without its caller is sent by another gateway when its own has gone', async () => {
    const { leave } = await askHeld(world, { era })
    await leave()
    const other = world.another()
    await outlive(world, other)
    world.die()
    await decide(other, 'approve')
    await other.worker.intent()
    await quiet(other)
    expect(executionOf(other, 0)).toBe((await rowsOf(world))[0]?.id)
    expect(sent(world, other)).toBe(1)
  })

  test('of two gateways that come with the same call, one sends it', async () => {
    const { leave } = await askHeld(world, { era })
    await leave()
    const others = [world.another(), world.another()]
    for (const other of others) await renew(other)
    await decide(world, 'approve')
    await quiet(world, ...others)
    expect(sent(world, ...others)).toBe(1)
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['consumed'])
  })

  test('a call that left may still be cancelled by name', async () => {
    const { outcome, leave, cancel } = await askHeld(world, { era })
    await leave()
    cancel()
    expect(await outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await statesOf(world)).toEqual(['refused call_cancelled'])
  })

  test('a closed stream after the barrier wishes nothing', async () => {
    const first = await askSent(world, { era })
    await first.leave()
    expect(world.worker.cancelled).toEqual([])
    expect(await rowOf(world, first.id)).toMatchObject({ state: 'dispatching', caller: 'detached' })
  })

  test('callers of an instance whose lease lapsed have left: the call goes on at another gateway', async () => {
    await askHeld(world, { era })
    const { executionId } = await pending(world)
    world.die()
    const other = world.another()
    await outlive(world, other)
    await other.orphans.look()
    expect(await rowOf(other, executionId)).toMatchObject({ caller: 'detached' })
    await decide(other, 'approve')
    await other.worker.intent()
    await quiet(other)
    expect(sent(world, other)).toBe(1)
  })

  test('callers of an instance that holds its lease have not left', async () => {
    await askHeld(world, { era })
    const { executionId } = await pending(world)
    const other = world.another()
    await outlive(world, other, world)
    await other.orphans.look()
    expect(await rowOf(other, executionId)).toMatchObject({ caller: 'attached' })
  })

  test('a call that nobody approved in time expires without its caller too', async () => {
    const { outcome, leave } = await askHeld(world, { era })
    await leave()
    world.step(3_600_000)
    await expireApprovals(world, world.now())
    await quiet(world)
    expect(await outcome).toMatchObject({ code: 'approval_expired' })
    expect(await statesOf(world)).toEqual(['refused approval_expired'])
  })

  test('what left and was approved, but cannot be sent within a minute, expires', async () => {
    const { leave } = await askHeld(world, { era })
    await leave()
    world.worker.name = undefined
    await decide(world, 'approve')
    world.step(59_999)
    await quiet(world)
    expect(await statesOf(world)).toEqual(['approved'])
    world.step(1)
    await quiet(world)
    expect(await statesOf(world)).toEqual(['refused approval_expired'])
  })

  test('a call that left, and was taken over, leaves nothing in flight behind', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const second = await askHeld(world, { era })
    world.answer(await approveSent(world))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
    await first.outcome
    await quiet(world)
    expect(world.desk.inFlight).toBe(0)
  })
}

function modern() {
  const era = 'modern'

  test('a write that needs nobody and waits its turn is cancelled: there is no approval that could expire', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { ...unattended, era })
    await second.leave()
    expect(await second.outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await statesOf(world)).toEqual(['dispatching', 'refused call_cancelled'])
    world.answer(first.intent)
    await first.outcome
    await quiet(world)
    expect(sent(world)).toBe(1)
  })

  test('a closed stream takes the request back: approved, it is not sent', async () => {
    const { outcome, leave } = await askHeld(world, { era })
    const { executionId, id } = await pending(world)
    await leave()
    expect(await outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await rowOf(world, executionId)).toMatchObject({
      state: 'awaiting_approval',
      caller: 'held_back',
    })
    expect(await decide(world, 'approve', id)).toMatchObject({ state: 'approved' })
    await quiet(world, world.another())
    expect(sent(world)).toBe(0)
    expect(await statesOf(world)).toEqual(['approved'])
  })

  test('the barrier itself lets it through for nobody who does not speak for it', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    await decide(world, 'approve')
    const [row] = await rowsOf(world)
    if (!row) expect.fail()
    const other = world.another()
    await renew(other)
    const pass = (at: World, speaks: 'caller' | 'nobody') => {
      const request = { ...write, session: at.session, era, callId: row.callId } as const
      const { promise, resolve } = Promise.withResolvers<string>()
      const { argumentsText } = write
      at.group.pass(
        { kind: 'continuation', request, row, argumentsText, holds: () => speaks },
        ({ kind }) => resolve(kind),
      )
      return promise
    }
    expect(await pass(world, 'nobody')).toBe('gone')
    expect(await pass(other, 'nobody')).toBe('gone')
    expect(await pass(other, 'caller')).toBe('gone')
    expect(sent(world, other)).toBe(0)
    expect(await pass(world, 'caller')).toBe('passed')
  })

  test('held back and approved, it is sent when an identical call takes it over', async () => {
    const first = await askHeld(world, { era })
    const { executionId } = await pending(world)
    await first.leave()
    await decide(world, 'approve')
    await quiet(world)
    const second = world.ask({ ...write, era })
    world.answer(await world.worker.intent())
    expect(await second).toMatchObject({ kind: 'result', executionId, earlier: {} })
    expect(await statesOf(world)).toEqual(['succeeded'])
    expect(sent(world)).toBe(1)
  })

  test('held back, taken over and approved then, it is sent', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const second = await askHeld(world, { era })
    expect(await approvals(world)).toHaveLength(1)
    world.answer(await approveSent(world))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
    expect(await statesOf(world)).toEqual(['succeeded'])
  })

  test('an identical call of another session does not take it over, and does not wait for it', async () => {
    const first = await askHeld(world, { era })
    await first.leave()
    const held = await pending(world)
    await decide(world, 'approve')
    const session = await openSession(world)
    const second = await askHeld(world, { era, session })
    world.answer(await approveSent(world))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
    expect(executionOf(world, 0)).not.toBe(held.executionId)
    expect(await statesOf(world)).toEqual(['approved', 'succeeded'])
  })

  test('held back and denied, the denial is what an identical call collects', async () => {
    const first = await askHeld(world, { era })
    const { executionId } = await pending(world)
    await first.leave()
    await decide(world, 'deny')
    const told = { code: 'approval_denied', executionId, earlier: {} }
    expect(await world.call({ ...write, era })).toMatchObject(told)
    expect(await approvals(world)).toHaveLength(1)
    const third = await askHeld(world, { era })
    expect(await approvals(world)).toHaveLength(2)
    third.cancel()
    await third.outcome
  })

  test.each([['pending'], ['approved']])(
    'held back and %s, it is cancelled when the approval expires',
    async (state) => {
      const first = await askHeld(world, { era })
      await first.leave()
      if (state === 'approved') await decide(world, 'approve')
      world.step(3_599_999)
      await expireApprovals(world, world.now())
      expect((await approvals(world)).map((approval) => approval.state)).toEqual([state])
      world.step(1)
      await expireApprovals(world, world.now())
      expect(await statesOf(world)).toEqual(['refused approval_expired'])
      const second = await askHeld(world, { era })
      expect(await approvals(world)).toHaveLength(2)
      second.cancel()
      await second.outcome
      expect(sent(world)).toBe(0)
    },
  )

  test('a stream that was closed before the call came to the barrier asks nobody', async () => {
    const outcome = await world.ask({ ...write, era, left: AbortSignal.abort() })
    expect(outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await approvals(world)).toEqual([])
  })

  test('a closed stream after the barrier is a wish, and its outcome can be come for', async () => {
    const first = await askSent(world, { era })
    await first.leave()
    expect(world.worker.cancelled).toEqual([first.intent])
    expect(await rowOf(world, first.id)).toMatchObject({ caller: 'detached' })
    world.answer(first.intent)
    await quiet(world)
    expect(await world.call({ ...unattended, era })).toMatchObject({
      kind: 'result',
      executionId: first.id,
      earlier: {},
    })
    expect(sent(world)).toBe(1)
  })

  test('callers of an instance whose lease lapsed have left: approved, the call is not sent', async () => {
    await askHeld(world, { era })
    const { executionId } = await pending(world)
    world.die()
    const other = world.another()
    await outlive(world, other)
    await other.orphans.look()
    expect(await rowOf(other, executionId)).toMatchObject({ caller: 'held_back' })
    await decide(other, 'approve')
    await quiet(other)
    expect(sent(other)).toBe(0)
    const second = other.ask({ ...write, era })
    other.answer(await other.worker.intent())
    expect(await second).toMatchObject({ kind: 'result', executionId })
    expect(sent(other)).toBe(1)
  })

  test('a paused gateway that wakes after its call was taken over does not send it', async () => {
    const first = await askHeld(world, { era })
    const { executionId } = await pending(world)
    const other = world.another()
    await outlive(world, other)
    const second = await askHeld(other, { era })
    await renew(world)
    const intent = await approveSent(other)
    await quiet(world)
    expect(await first.outcome).toMatchObject({ code: 'call_in_flight', executionId })
    other.answer(intent)
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId })
    expect(sent(world, other)).toBe(1)
  })

  test('a paused gateway that wakes before anybody came has its caller back, and sends', async () => {
    const { outcome } = await askHeld(world, { era })
    const { executionId } = await pending(world)
    const other = world.another()
    await outlive(world, other)
    await other.orphans.look()
    expect(await rowOf(world, executionId)).toMatchObject({ caller: 'held_back' })
    await renew(world)
    world.answer(await approveSent(world))
    expect(await outcome).toMatchObject({ kind: 'result' })
    expect(await rowOf(world, executionId)).toMatchObject({ caller: 'attached' })
    expect(sent(world, other)).toBe(1)
  })
}
