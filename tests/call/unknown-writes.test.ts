/** Domain rule 7, parts (c) and (d): unknown outcomes, and what a person says of them. */
import { approvalContext, findApproval, type Resolution, resolveExecution } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  askTool,
  bodies,
  type Engine,
  openWorld,
  readTool,
  type World,
  writeTool,
} from './call-world.ts'
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
  executionOf,
  limited,
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

describe.each(cases)('unknown outcomes on %s, %s', (engine, era) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(engine)
    await renew(world)
  })
  afterEach(() => world.close())

  /** A write that was cut after its first byte. */
  const cut = async (change = {}): Promise<ExecutionId> => {
    const call = await askSent(world, { era, ...change })
    world.answer(call.intent, { verdict: 'uncertain', code: 'upstream_timeout' })
    expect(await call.outcome).toMatchObject({ code: 'outcome_unknown', executionId: call.id })
    expect(await rowOf(world, call.id)).toMatchObject({ state: 'unknown' })
    return call.id
  }
  const resolve = (
    id: ExecutionId,
    outcome: Resolution['outcome'] = 'not_applied',
    allowRetry = false,
  ) => resolveExecution(world, world.owner, id, { outcome, note: 'looked', allowRetry })

  describe('while one stands', () => {
    test('identical calls are refused with its id, in every session of its owner, and nobody is asked', async () => {
      const executionId = await cut()
      const told = { code: 'outcome_unknown', executionId }
      const sessions = [world.session, await openSession(world)]
      for (const session of sessions)
        for (const call of [unattended, write])
          expect(await world.ask({ ...call, era, session })).toMatchObject(told)
      expect(await approvals(world)).toEqual([])
      expect(sent(world)).toBe(1)
    })

    test('also after the session that asked has ended, at another gateway, and days later', async () => {
      const executionId = await cut()
      await world.store.transact((tx) =>
        tx.sessions.move(world.session.id, ['open'], 'closing', {}),
      )
      world.die()
      world.step(20 * 86_400_000)
      const other = world.another()
      const lasts = { expiresAt: 1e13, lastCallAt: world.now() }
      const session = await openSession(other, lasts)
      const told = { code: 'outcome_unknown', executionId }
      expect(await other.ask({ ...unattended, era, session })).toMatchObject(told)
    })

    test('an identical call of another owner runs', async () => {
      await cut()
      const { userId: ownerId } = await addUser(world)
      const other = await askSent(world, { era, session: await openSession(world, { ownerId }) })
      world.answer(other.intent)
      expect(await other.outcome).toMatchObject({ kind: 'result' })
    })

    test('what was refused for it names it in the journal', async () => {
      const about = await cut()
      await world.ask({ ...unattended, era })
      const [, refused] = await rowsOf(world)
      expect(refused).toMatchObject({ state: 'refused', code: 'outcome_unknown', notes: { about } })
    })

    test('with other arguments a call that needs a person is asked for, and shows it', async () => {
      const id = await cut()
      const held = await askHeld(world, { era, argumentsText: '{"by":2}' })
      const seen = await findApproval(world.store, world.owner, (await pending(world)).id)
      const { identical, unknown } = await approvalContext(world.store, bodies, seen, world.now())
      expect(identical).toEqual([])
      expect(unknown.map((row) => row.id)).toEqual([id])
      world.answer(await approveSent(world))
      expect(await held.outcome).toMatchObject({ kind: 'result' })
    })

    test('a tool that needs nobody is refused whatever the arguments', async () => {
      const executionId = await cut()
      const other = { ...unattended, era, argumentsText: '{"by":2}' }
      const told = { code: 'tool_outcome_unknown', executionId }
      expect(await world.ask(other)).toMatchObject(told)
      const session = await openSession(world)
      expect(await world.ask({ ...other, session })).toMatchObject(told)
      expect(sent(world)).toBe(1)
    })

    test('not so another tool, another owner, a read, or where the grant says identicalOnly', async () => {
      await cut()
      const { binding } = writeTool
      const argumentsText = '{"by":2}'
      const { userId: ownerId } = await addUser(world)
      const others = [
        { argumentsText, tool: { ...writeTool, binding: { ...binding, tool: 'subtract' } } },
        { argumentsText, session: await openSession(world, { ownerId }) },
        { argumentsText, tool: readTool },
        { argumentsText, tool: limited(writeTool, { identicalOnly: true }) },
      ]
      for (const change of others) {
        const call = await askSent(world, { era, ...change })
        world.answer(call.intent)
        expect(await call.outcome).toMatchObject({ kind: 'result' })
      }
      const identical = { ...unattended, era, tool: limited(writeTool, { identicalOnly: true }) }
      expect(await world.ask(identical)).toMatchObject({ code: 'outcome_unknown' })
    })

    test('a queue behind it is refused too when the tool became unknown by another call', async () => {
      const first = await askSent(world, { era })
      const other = await askSent(world, { era, argumentsText: '{"by":2}' })
      const second = await askHeld(world, { ...unattended, era })
      world.answer(other.intent, { verdict: 'uncertain' })
      await other.outcome
      world.answer(first.intent)
      await take(world, await first.outcome)
      expect(await second.outcome).toMatchObject({ code: 'tool_outcome_unknown' })
      expect(sent(world)).toBe(2)
    })
  })

  describe('recording one', () => {
    test('refuses every identical execution before the barrier, and cancels its approval', async () => {
      const session = await openSession(world)
      const first = await askSent(world, { era })
      const queued = await askHeld(world, { ...unattended, era })
      const asked = await askHeld(world, { era, session })
      const approved = await askHeld(world, { era })
      await decide(world, 'approve', (await approvals(world))[1]?.id)
      world.answer(first.intent, { verdict: 'uncertain' })
      const told = { code: 'outcome_unknown', executionId: first.id }
      for (const { outcome } of [first, queued, asked, approved])
        expect(await outcome).toMatchObject(told)
      expect(await statesOf(world)).toEqual([
        'unknown outcome_unknown',
        'refused outcome_unknown',
        'refused outcome_unknown',
        'refused outcome_unknown',
      ])
      expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled', 'cancelled'])
      expect(sent(world)).toBe(1)
    })

    test('also those whose callers have left, and those at other gateways', async () => {
      const other = world.another()
      await renew(other)
      const first = await askSent(world, { era })
      const left = await askHeld(world, { era, argumentsText: '{"by":1}' })
      await left.leave()
      const elsewhere = await askHeld(other, { era })
      world.answer(first.intent, { verdict: 'uncertain' })
      await first.outcome
      await quiet(world, other)
      expect(await elsewhere.outcome).toMatchObject({ code: 'outcome_unknown' })
      expect(new Set((await statesOf(world)).slice(1))).toEqual(
        new Set(['refused outcome_unknown']),
      )
      await quiet(world, other)
      expect(sent(world, other)).toBe(1)
    })

    test('leaves those of others, and those with other arguments', async () => {
      const { userId: ownerId } = await addUser(world)
      const first = await askSent(world, { era })
      await askHeld(world, { era, argumentsText: '{"by":2}' })
      await askHeld(world, { era, session: await openSession(world, { ownerId }) })
      world.answer(first.intent, { verdict: 'uncertain' })
      await first.outcome
      await quiet(world)
      expect((await statesOf(world)).slice(1)).toEqual(['awaiting_approval', 'awaiting_approval'])
    })

    test('by recovery refuses them too', async () => {
      const first = await askSent(world, { era })
      const second = await askHeld(world, { era })
      await decide(world, 'approve')
      world.gone.add('worker-1')
      world.recovery.lost([first.intent])
      await world.recovery.round()
      expect(await first.outcome).toMatchObject({ code: 'outcome_unknown' })
      expect(await second.outcome).toMatchObject({ code: 'outcome_unknown' })
      expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled'])
    })

    test('no approval given before it lets anything through after it was resolved', async () => {
      const first = await askSent(world, { era })
      const second = await askHeld(world, { era })
      await second.leave()
      await decide(world, 'approve')
      world.answer(first.intent, { verdict: 'uncertain' })
      await first.outcome
      await world.group.drained()
      await resolve(first.id, 'not_applied', true)
      await quiet(world)
      expect(sent(world)).toBe(1)
      const third = await askHeld(world, { era })
      expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled', 'pending'])
      world.answer(await approveSent(world))
      expect(await third.outcome).toMatchObject({ kind: 'result' })
    })
  })

  describe('the resolution', () => {
    test.each([
      ['applied', 'resolved_applied'],
      ['not_applied', 'resolved_not_applied'],
      ['abandoned', 'resolved_abandoned'],
    ] as const)('%s answers identical calls until it was collected, once', async (said, code) => {
      const executionId = await cut()
      await resolve(executionId, said)
      const told = await world.ask({ ...unattended, era })
      expect(told).toMatchObject({ code, executionId })
      deliveryOf(told).lost()
      await world.group.drained()
      const again = await world.ask({ ...write, era, session: await openSession(world) })
      expect(again).toMatchObject({ code, executionId })
      await take(world, again)
      expect(await rowOf(world, executionId)).toMatchObject({ caller: 'collected' })
      const next = await askSent(world, { era })
      world.answer(next.intent)
      expect(await next.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(2)
    })

    test('is told again while its answer is on its way to somebody', async () => {
      const executionId = await cut()
      await resolve(executionId)
      await world.ask({ ...unattended, era })
      const again = await world.ask({ ...unattended, era, session: await openSession(world) })
      expect(again).toMatchObject({ code: 'resolved_not_applied', executionId })
      expect(sent(world)).toBe(1)
    })

    test('with allowRetry does not answer: the key is free, and the retry needs its own approval', async () => {
      const call = await askHeld(world, { era })
      const intent = await approveSent(world)
      world.answer(intent, { verdict: 'uncertain' })
      await call.outcome
      await world.group.drained()
      const id = executionOf(world, 0)
      await resolve(id, 'not_applied', true)
      const retry = await askHeld(world, { era })
      await quiet(world)
      expect(sent(world)).toBe(1)
      world.answer(await approveSent(world))
      const outcome = await retry.outcome
      expect(outcome).toMatchObject({ kind: 'result' })
      expect(outcome.executionId).not.toBe(id)
      expect((await approvals(world)).map(({ state }) => state)).toEqual(['consumed', 'consumed'])
      expect(sent(world)).toBe(2)
    })

    test('survives the gateway', async () => {
      const executionId = await cut()
      await resolve(executionId, 'applied')
      world.die()
      const other = world.another()
      await outlive(world, other)
      const told = await other.ask({ ...unattended, era })
      expect(told).toMatchObject({ code: 'resolved_applied', executionId })
      await take(other, told)
      other.answer((await askSent(other, { era })).intent)
    })

    test('frees a tool that needs nobody', async () => {
      const executionId = await cut()
      const other = { ...unattended, era, argumentsText: '{"by":2}' }
      expect(await world.ask(other)).toMatchObject({ code: 'tool_outcome_unknown' })
      await resolve(executionId)
      await askSent(world, other)
    })

    test('to a call of the same arguments is not an approval, and asks nobody', async () => {
      const executionId = await cut({ tool: writeTool })
      await resolve(executionId, 'not_applied')
      expect(await world.ask({ ...write, era })).toMatchObject({ code: 'resolved_not_applied' })
      expect(await approvals(world)).toEqual([])
      expect(sent(world)).toBe(1)
    })
  })

  describe('everything else is new, and its approval shows', () => {
    const contextOf = async () => {
      const seen = await findApproval(world.store, world.owner, (await pending(world)).id)
      return approvalContext(world.store, bodies, seen, world.now())
    }

    test('identical executions of the last day, and none before', async () => {
      const first = await askSent(world, { era })
      world.answer(first.intent)
      await take(world, await first.outcome)
      world.step(86_400_000)
      const second = await askSent(world, { era })
      world.answer(second.intent)
      await take(world, await second.outcome)
      await askHeld(world, { era, tool: askTool })
      expect((await contextOf()).identical.map(({ id }) => id)).toEqual([second.id])
    })

    test('every unresolved unknown of the same tool, resolved ones no more', async () => {
      const ids = [
        await cut({ argumentsText: '{"by":2}' }),
        await cut({ tool: limited(writeTool, { identicalOnly: true }), argumentsText: '{"by":3}' }),
      ]
      await askHeld(world, { era })
      expect((await contextOf()).unknown.map(({ id }) => id)).toEqual(ids.toReversed())
      await resolve(ids[0] as ExecutionId)
      expect((await contextOf()).unknown.map(({ id }) => id)).toEqual([ids[1]])
    })
  })
})
