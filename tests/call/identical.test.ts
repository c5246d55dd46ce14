/** Domain rule 7, its key and its part (a): identical writes that are asked for while one is not settled. */
import type { CatalogId, ConnectionId } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { aConnection } from '../../packages/core/src/call/samples.ts'
import {
  type Engine,
  openWorld,
  readTool,
  type World,
  workerDown,
  writeTool,
} from './call-world.ts'
import {
  addUser,
  approvals,
  askHeld,
  askSent,
  decide,
  deliveryOf,
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
  take,
  unattended,
  until,
  write,
} from './held-calls.ts'

const engines = ['memory', 'sqlite'] as const
const cases = engines.flatMap((engine) => eras.map((era): [Engine, Era] => [engine, era]))

describe.each(cases)('identical calls on %s, %s', (engine, era) => {
  let world: World
  beforeEach(async () => {
    world = await openWorld(engine)
    await renew(world)
  })
  afterEach(() => world.close())

  /** Sent, answered, and not yet told whether it arrived. */
  const answered = async (change = {}) => {
    const call = await askSent(world, { era, ...change })
    world.answer(call.intent)
    return { ...call, told: await call.outcome }
  }

  test('a read is always a new execution', async () => {
    const first = await askSent(world, { era, tool: readTool })
    await first.leave()
    const second = await askSent(world, { era, tool: readTool })
    for (const { intent } of [first, second]) world.answer(intent)
    await second.outcome
    world.step(4 * 3_600_000)
    const third = await askSent(world, { era, tool: readTool })
    world.answer(third.intent)
    expect(await third.outcome).not.toHaveProperty('earlier')
    expect(new Set([first.id, second.id, third.id]).size).toBe(3)
  })

  test('other arguments, another tool, another connection, another owner: nothing waits for those', async () => {
    await askSent(world, { era })
    const connectionId = world.ids('connection') as ConnectionId
    const { binding } = writeTool
    await world.store.transact(async (tx) => {
      const { credentialId } = binding
      const publishedId = binding.catalogId as CatalogId
      const connection = { id: connectionId, name: 'other', credentialId, publishedId }
      await tx.connections.insert(aConnection(connection), 25)
    })
    const { userId } = await addUser(world)
    const others = [
      { argumentsText: '{"by":2}' },
      { tool: { ...writeTool, binding: { ...binding, tool: 'subtract' } } },
      { tool: { ...writeTool, binding: { ...binding, connectionId } } },
      { session: await openSession(world, { ownerId: userId }) },
    ]
    for (const other of others) await askSent(world, { era, ...other })
    expect(sent(world)).toBe(1 + others.length)
    const same = await askHeld(world, { ...unattended, era, session: await openSession(world) })
    expect(sent(world)).toBe(1 + others.length)
    same.cancel()
    await same.outcome
  })

  test('while one is on its way an identical call is a new execution, which is sent after the first was settled and collected', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { ...unattended, era })
    world.answer(first.intent)
    const told = await first.outcome
    await quiet(world)
    expect(await statesOf(world)).toEqual(['succeeded', 'approved'])
    await take(world, told)
    const intent = await world.worker.intent(1)
    world.answer(intent, {}, '{"content":[],"n":2}')
    const outcome = await second.outcome
    expect(outcome).toMatchObject({ kind: 'result' })
    expect(outcome).not.toHaveProperty('earlier')
    expect(await statesOf(world)).toEqual(['succeeded', 'succeeded'])
  })

  test('two identical calls of one turn are two executions, sent one after the other', async () => {
    const both = [world.call({ ...unattended, era }), world.call({ ...unattended, era })]
    world.answer(await world.worker.intent(0))
    expect(sent(world)).toBe(1)
    world.answer(await world.worker.intent(1))
    for (const outcome of both) expect(await outcome).toMatchObject({ kind: 'result' })
    const ids = [executionOf(world, 0), executionOf(world, 1)]
    expect(new Set(ids).size).toBe(2)
    expect((ids[0] as string) < (ids[1] as string)).toBe(true)
  })

  test('two identical calls that need a person are two executions with an approval each', async () => {
    const first = await askHeld(world, { era })
    const second = await askHeld(world, { era })
    const [one, two] = await approvals(world)
    await decide(world, 'approve', two?.id)
    await quiet(world)
    expect(sent(world)).toBe(0)
    await decide(world, 'approve', one?.id)
    world.answer(await world.worker.intent())
    const told = await first.outcome
    await quiet(world)
    expect(sent(world)).toBe(1)
    await take(world, told)
    world.answer(await world.worker.intent(1))
    expect(await second.outcome).toMatchObject({ executionId: two?.executionId })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['consumed', 'consumed'])
  })

  test('the second is sent when the first was denied, cancelled, or proved not to have been sent', async () => {
    const denied = await askHeld(world, { era })
    const second = await askHeld(world, { ...unattended, era, tool: writeTool })
    await decide(world, 'deny')
    await take(world, await denied.outcome)
    world.answer(await world.worker.intent(0), { verdict: 'not_sent', code: 'tool_changed' })
    expect(await second.outcome).toMatchObject({ code: 'tool_changed' })

    const cancelled = await askHeld(world, { era })
    const third = await askHeld(world, { ...unattended, era })
    cancelled.cancel()
    const intent = await world.worker.intent(1)
    const fourth = await askHeld(world, { ...unattended, era })
    world.answer(intent, { verdict: 'not_sent', code: 'tool_changed' })
    await third.outcome
    world.answer(await world.worker.intent(2))
    expect(await fourth.outcome).toMatchObject({ kind: 'result' })
  })

  test('when the first proves detached the second takes that outcome, and nothing is sent for it', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { ...unattended, era })
    const raw = '{"content":[],"n":1}'
    world.answer(first.intent, {}, raw)
    deliveryOf(await first.outcome).lost()
    const outcome = await second.outcome
    const earlier = { finishedAt: world.now() }
    expect(outcome).toMatchObject({ kind: 'result', executionId: first.id, earlier })
    expect(outcome).toMatchObject({ result: Buffer.from(raw) })
    await take(world, outcome)
    const [one, two] = await rowsOf(world)
    expect(one).toMatchObject({ state: 'succeeded', caller: 'collected' })
    expect(two).toMatchObject({ code: 'answered_by_earlier', notes: { about: first.id } })
    expect(sent(world)).toBe(1)
  })

  test('also one that waits for a person: nobody has to decide about it any more', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { era })
    world.answer(first.intent)
    deliveryOf(await first.outcome).lost()
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId: first.id })
    expect((await approvals(world)).map(({ state }) => state)).toEqual(['cancelled'])
    expect(sent(world)).toBe(1)
  })

  test('also one that came when the first was settled, and whose answer was lost then', async () => {
    const first = await answered()
    world.step(1)
    const second = await askHeld(world, { ...unattended, era })
    deliveryOf(first.told).lost()
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId: first.id })
    expect(sent(world)).toBe(1)
  })

  test('also one that came while the first was held back by its caller, and was taken over since', async () => {
    const first = await askHeld(world, { era: 'modern' })
    await first.leave()
    const session = await openSession(world)
    const second = await askHeld(world, { era, session })
    const again = await askHeld(world, { era: 'modern' })
    const [one, two] = await approvals(world)
    await decide(world, 'approve', one?.id)
    const intent = await world.worker.intent()
    await decide(world, 'approve', two?.id)
    world.answer(intent)
    deliveryOf(await again.outcome).lost()
    const outcome = await second.outcome
    expect(outcome).toMatchObject({ kind: 'result', executionId: one?.executionId })
    expect(sent(world)).toBe(1)
  })

  test.each([-60_000, 60_000])(
    'also at a gateway whose clock is ahead by %i ms',
    async (aheadMs) => {
      const other = world.another(aheadMs)
      await renew(other)
      const first = await askSent(world, { era })
      const second = await askHeld(other, { ...unattended, era })
      world.answer(first.intent)
      deliveryOf(await first.outcome).lost()
      expect(await second.outcome).toMatchObject({ kind: 'result', executionId: first.id })
      expect(sent(world, other)).toBe(1)
    },
  )

  test('in another session too', async () => {
    const first = await askSent(world, { era })
    const session = await openSession(world)
    const second = await askHeld(world, { ...unattended, era, session })
    world.answer(first.intent)
    deliveryOf(await first.outcome).lost()
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId: first.id })
    expect(sent(world)).toBe(1)
  })

  test('the first outcome goes to one of those that waited; the next is sent', async () => {
    const first = await askSent(world, { era })
    const others = [
      await askHeld(world, { ...unattended, era }),
      await askHeld(world, { ...unattended, era }),
    ]
    world.answer(first.intent)
    deliveryOf(await first.outcome).lost()
    await take(world, (await others[0]?.outcome) ?? expect.fail())
    world.answer(await world.worker.intent(1))
    const outcome = await others[1]?.outcome
    expect(outcome).toMatchObject({ kind: 'result' })
    expect(outcome).not.toHaveProperty('earlier')
    expect(sent(world)).toBe(2)
  })

  test('when the gateway of the first dies after it was settled, the second takes that outcome', async () => {
    const first = await askSent(world, { era })
    const other = world.another()
    const second = await askHeld(other, { ...unattended, era })
    world.answer(first.intent)
    await first.outcome
    await world.group.drained()
    world.die()
    await outlive(world, other)
    await quiet(other)
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId: first.id })
    expect(sent(world, other)).toBe(1)
  })

  test('one that waited and whose caller has left too sends nothing, and the outcome stays for whoever comes', async () => {
    const first = await askSent(world, { era: 'legacy' })
    const second = await askHeld(world, { ...unattended, era: 'legacy' })
    await second.leave()
    await first.leave()
    world.answer(first.intent)
    await quiet(world)
    expect(await statesOf(world)).toEqual(['succeeded', 'refused answered_by_earlier'])
    expect(await rowOf(world, first.id)).toMatchObject({ caller: 'detached' })
    world.step(120_000)
    const again = await world.call({ ...unattended, era })
    expect(again).toMatchObject({ kind: 'result', executionId: first.id, earlier: {} })
    expect(sent(world)).toBe(1)
  })

  test('one that nobody holds any more sends nothing either, and the outcome stays for whoever comes', async () => {
    const first = await askSent(world, { era: 'legacy' })
    const other = world.another()
    await renew(other)
    await askHeld(other, { ...unattended, era: 'legacy' })
    other.die()
    await outlive(world, world)
    await first.leave()
    world.answer(first.intent)
    await quiet(world)
    expect(await statesOf(world)).toEqual(['succeeded', 'refused answered_by_earlier'])
    world.step(120_000)
    const again = await world.call({ ...unattended, era })
    expect(again).toMatchObject({ kind: 'result', executionId: first.id, earlier: {} })
    expect(sent(world)).toBe(1)
  })

  describe('one whose caller has left, after the one that it came after was left too and taken over', () => {
    const comes = {
      'with the same arguments': () => askHeld(world, { ...unattended, era }),
      'for its result': async (executionId: string) => ({
        outcome: world.desk.collect({ session: world.session, era, executionId }),
      }),
    }

    test.each(Object.entries(comes))('by a call that comes %s, sends nothing', async (_, come) => {
      const first = await askSent(world, { era: 'legacy' })
      const second = await askHeld(world, { ...unattended, era: 'legacy' })
      await second.leave()
      await first.leave()
      const again = await come(first.id)
      await world.group.drained()
      world.answer(first.intent)
      await take(world, await again.outcome)
      await quiet(world)
      expect(await statesOf(world)).toEqual(['succeeded', 'refused answered_by_earlier'])
      expect(sent(world)).toBe(1)
    })

    test('by one that came while nobody knew that they had left, sends nothing', async () => {
      const gateways = [world, world.another(), world.another()] as const
      const [dead, dies, lives] = gateways
      for (const one of gateways) await renew(one)
      await askHeld(dead, { era: 'legacy' })
      dead.die()
      await askHeld(dies, { era: 'legacy' })
      await outlive(lives, dies, lives)
      dies.die()
      const last = await askHeld(lives, { era: 'legacy' })
      for (const { id } of (await approvals(lives)).slice(0, 2)) await decide(lives, 'approve', id)
      lives.answer(await lives.worker.intent())
      await take(lives, await last.outcome)
      await outlive(lives, lives)
      await quiet(lives)
      expect(await statesOf(lives)).toEqual(['succeeded', 'refused answered_by_earlier'])
      expect(sent(...gateways)).toBe(1)
    })

    test('is sent when it is asked for once more', async () => {
      const first = await askSent(world, { era: 'legacy' })
      const second = await askHeld(world, { ...unattended, era: 'legacy' })
      await second.leave()
      await first.leave()
      const again = await askHeld(world, { ...unattended, era })
      const oneMore = await askHeld(world, { ...unattended, era })
      world.answer(first.intent)
      await take(world, await again.outcome)
      world.answer(await world.worker.intent(1))
      expect(await oneMore.outcome).toMatchObject({ kind: 'result' })
      expect(await statesOf(world)).toEqual(['succeeded', 'succeeded'])
    })
  })

  test('what was refused or not sent keeps nobody waiting, whoever was to be told', async () => {
    world.worker.failSend = workerDown()
    expect(await world.ask({ ...unattended, era })).toMatchObject({ kind: 'failure' })
    const [row] = await rowsOf(world)
    expect(row).toMatchObject({ state: 'not_sent' })
    const second = await askSent(world, { era })
    world.answer(second.intent)
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })

  test('an outcome whose arrival nobody reports keeps identical calls waiting for a minute', async () => {
    await answered()
    const second = await askHeld(world, { ...unattended, era })
    world.step(59_999)
    await quiet(world)
    expect(sent(world)).toBe(1)
    world.step(1)
    await quiet(world)
    world.answer(await world.worker.intent(1))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })

  test('an execution that is held back keeps no identical one of another session from being sent', async () => {
    const first = await askHeld(world, { era: 'modern' })
    await first.leave()
    const { executionId } = await pending(world)
    const session = await openSession(world)
    const second = await askSent(world, { era, session })
    expect(second.id).not.toBe(executionId)
  })

  test('at two gateways one of two identical calls is sent, and the other after it', async () => {
    const other = world.another()
    await renew(other)
    const calls = [world.call({ ...unattended, era }), other.call({ ...unattended, era })]
    await until(() => sent(world, other) > 0)
    await quiet(world, other)
    expect(sent(world, other)).toBe(1)
    const [one, two] = sent(world) === 1 ? [world, other] : [other, world]
    one.answer(await one.worker.intent())
    await quiet(one, two)
    two.answer(await two.worker.intent())
    for (const outcome of calls) expect(await outcome).toMatchObject({ kind: 'result' })
  })

  test('approved by one person, denied by another: each decision is about one of them', async () => {
    const first = await askHeld(world, { era })
    const second = await askHeld(world, { era })
    const [one, two] = await approvals(world)
    await decide(world, 'deny', one?.id)
    await take(world, await first.outcome)
    await decide(world, 'approve', two?.id)
    world.answer(await world.worker.intent())
    expect(await first.outcome).toMatchObject({ code: 'approval_denied' })
    expect(await second.outcome).toMatchObject({ kind: 'result', executionId: two?.executionId })
  })

  test('a call that needs a person waits for an identical one that needs nobody', async () => {
    const first = await askSent(world, { era })
    const second = await askHeld(world, { ...write, era })
    await decide(world, 'approve')
    await quiet(world)
    expect(sent(world)).toBe(1)
    world.answer(first.intent)
    await take(world, await first.outcome)
    world.answer(await world.worker.intent(1))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })
})
