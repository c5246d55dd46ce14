/** Commits of held calls that fail or whose end is unclear: nobody is told that nothing happens, and nothing happens twice. */
import type { CallOutcome, Store, Tx } from '@sallyport/core'
import { errors, SallyportError } from '@sallyport/protocol'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openWorld, type World, workerDown } from './call-world.ts'
import {
  approvals,
  askHeld,
  askSent,
  decide,
  type Era,
  eras,
  executionOf,
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

type Fault = 'none' | 'failed' | 'unclear'
type Step = 'insert' | 'dispatch' | 'settle' | 'moveCallers'

/** A store whose commits with such a statement are not done, or done without a word. */
class FaultyStore {
  fault: Fault = 'none'
  step: Step = 'dispatch'
  /** How many commits it spoiled. */
  spoiled = 0
  readonly store: Store

  constructor(store: Store) {
    this.store = new Proxy(store, {
      get: (target, name, receiver) =>
        name === 'transact'
          ? (...args: Parameters<Store['transact']>) => this.#transact(target, ...args)
          : Reflect.get(target, name, receiver),
    })
  }

  async #transact(store: Store, ...[work, options]: Parameters<Store['transact']>) {
    let isMeant = false
    const { fault, step } = this
    const result = await store.transact(async (tx) => {
      const done = await work(
        watched(tx, step, () => {
          isMeant = true
        }),
      )
      if (isMeant && fault === 'failed') this.#spoil()
      return done
    }, options)
    if (isMeant && fault === 'unclear') this.#spoil()
    return result
  }

  #spoil(): never {
    this.spoiled++
    throw new SallyportError('store_unavailable')
  }
}

function watched(tx: Tx, step: Step, met: () => void): Tx {
  const executions = new Proxy(tx.executions, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        if (name === step) met()
        return value.apply(target, args)
      }
    },
  })
  return new Proxy(tx, {
    get(target, name) {
      if (name === 'executions') return executions
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const engines = ['memory', 'sqlite'] as const
const cases = engines.flatMap((engine) => eras.map((era): [Engine, Era] => [engine, era]))
const raw = '{"content":[],"n":1}'

describe.each(cases)('commits of held calls on %s, %s', (engine, era) => {
  let base: World
  let world: World
  let faulty: FaultyStore
  beforeEach(async () => {
    base = await openWorld(engine)
    faulty = new FaultyStore(base.store)
    world = base.over(faulty.store)
    await renew(world)
  })
  afterEach(() => base.close())

  const spoil = (fault: Fault, step: Step = 'dispatch') => {
    faulty.fault = fault
    faulty.step = step
    faulty.spoiled = 0
  }
  const spoiled = (times = 1) => until(() => faulty.spoiled >= times)

  /** Held and approved, while commits of barriers are spoiled; back to normal after the first. */
  const approvedInto = async (fault: Fault) => {
    const call = await askHeld(world, { era })
    spoil(fault)
    await decide(base, 'approve')
    await spoiled()
    spoil('none')
    return { ...call, id: (await approvals(base))[0]?.executionId ?? expect.fail() }
  }
  const isOpen = (outcome: Promise<CallOutcome>) =>
    Promise.race([outcome.then(() => false), quiet(world).then(() => true)])

  test('one that failed: the call goes on to wait, and passes with another intent', async () => {
    const { outcome, id } = await approvedInto('failed')
    await until(() => sent(world) === 2)
    const second = await world.worker.intent(1)
    const [first] = world.worker.orders
    expect(world.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'abort', 'send', 'commit'])
    expect(await rowOf(world, id)).toMatchObject({ state: 'dispatching', intentId: second })
    expect(first?.id).not.toBe(second)
    world.answer(second, {}, raw)
    expect(await outcome).toMatchObject({ kind: 'result', executionId: id })
    expect(await approvals(base)).toMatchObject([{ state: 'consumed' }])
  })

  test('what is believed of the first intent moves no row that names the second', async () => {
    const { outcome, id } = await approvedInto('failed')
    const second = await until(() => sent(world) === 2 && world.worker.intent(1))
    const first = world.worker.orders[0]?.id
    expect(world.suspected.map(({ intentId }) => intentId)).toEqual([first])
    world.worker.recoverWith = () => ({ state: 'never_started' })
    await world.recovery.round()
    expect(world.worker.asked).toEqual([first])
    expect(await rowOf(world, id)).toMatchObject({ state: 'dispatching', intentId: second })
    const [row] = world.suspected
    world.desk.onRecovered(row ?? expect.fail(), { state: 'unknown', code: 'outcome_unknown' })
    expect(await rowOf(world, id)).toMatchObject({ state: 'dispatching', intentId: second })
    if (first) world.answer(first, {}, '{"content":[],"n":"first"}')
    expect(await isOpen(outcome)).toBe(true)
    world.answer(second, {}, raw)
    expect(await outcome).toMatchObject({ kind: 'result', result: Buffer.from(raw) })
    expect(await rowOf(world, id)).toMatchObject({ state: 'succeeded', intentId: second })
  })

  test('what another gateway believes of the first intent does not either', async () => {
    const { id } = await approvedInto('failed')
    const second = await until(() => sent(world) === 2 && world.worker.intent(1))
    const other = base.another()
    const [row] = world.suspected
    other.desk.onRecovered(row ?? expect.fail(), { state: 'not_sent', code: 'not_sent' })
    await other.group.drained()
    expect(await rowOf(world, id)).toMatchObject({ state: 'dispatching', intentId: second })
  })

  test('one that was done without a word: the call is told nothing until it is known, then what became of it', async () => {
    const { outcome, id } = await approvedInto('unclear')
    expect(await rowOf(base, id)).toMatchObject({ state: 'dispatching' })
    expect(await isOpen(outcome)).toBe(true)
    world.worker.recoverWith = () => ({ state: 'never_started' })
    await world.recovery.round()
    await quiet(world)
    expect(await outcome).toMatchObject({ code: 'not_sent', executionId: id })
    expect(world.worker.steps.map(({ kind }) => kind)).toEqual(['send', 'abort'])
    expect(await statesOf(base)).toEqual(['not_sent not_sent'])
    expect(await approvals(base)).toMatchObject([{ state: 'consumed' }])
    const again = await askHeld(world, { era })
    expect(await approvals(base)).toHaveLength(2)
    again.cancel()
    await again.outcome
  })

  test('one that was done without a word, of which the worker says nothing: unknown, and not before its time', async () => {
    const { outcome, id } = await approvedInto('unclear')
    const { notAfter } = await rowOf(base, id)
    world.step((notAfter ?? 0) + 9_999 - world.now())
    await renew(world)
    await world.recovery.round()
    expect(await isOpen(outcome)).toBe(true)
    world.step(1)
    await world.recovery.round()
    await quiet(world)
    expect(await outcome).toMatchObject({ code: 'outcome_unknown', executionId: id })
    expect(await world.ask({ ...write, era })).toMatchObject({ code: 'outcome_unknown' })
  })

  test('one that was done without a word, whose gateway then dies: another finds out', async () => {
    const { id } = await approvedInto('unclear')
    world.die()
    base.step(16_000)
    await renew(base)
    base.worker.recoverWith = () => ({ state: 'never_started' })
    await base.recovery.adopt()
    await base.recovery.round()
    expect(await rowOf(base, id)).toMatchObject({ state: 'not_sent' })
  })

  test('several that fail: the call waits on, and is sent once', async () => {
    const call = await askHeld(world, { era })
    spoil('failed')
    await decide(base, 'approve')
    await spoiled(2)
    expect(await isOpen(call.outcome)).toBe(true)
    expect(await statesOf(base)).toEqual(['approved'])
    spoil('none')
    const last = await until(() => {
      const step = world.worker.steps.at(-1)
      return step?.kind === 'commit' && step.ids[0]
    })
    world.answer(last)
    expect(await call.outcome).toMatchObject({ kind: 'result' })
    expect(world.worker.steps.filter(({ kind }) => kind === 'commit')).toHaveLength(1)
  })

  test('several that fail for longer than the approval lasts: it expires, and says so', async () => {
    const call = await askHeld(world, { era })
    spoil('failed')
    await decide(base, 'approve')
    await spoiled()
    world.step(60_000)
    await renew(world)
    spoil('none')
    await quiet(world)
    expect(await call.outcome).toMatchObject({ code: 'approval_expired' })
    expect(await approvals(base)).toMatchObject([{ state: 'expired' }])
    expect(world.worker.steps.filter(({ kind }) => kind === 'commit')).toHaveLength(0)
  })

  test('a cancel that could not be recorded is recorded later, and nothing is sent', async () => {
    const call = await askHeld(world, { era })
    spoil('failed', 'settle')
    call.cancel()
    await spoiled()
    await decide(base, 'approve')
    spoil('none')
    await quiet(world)
    expect(await call.outcome).toMatchObject({ code: 'call_cancelled' })
    expect(await approvals(base)).toMatchObject([{ state: 'cancelled' }])
    expect(sent(world)).toBe(0)
  })

  test('a worker that goes away during the barrier of an approved call proves that nothing was sent', async () => {
    const call = await askHeld(world, { era })
    world.worker.failSend = workerDown()
    await decide(base, 'approve')
    expect(await call.outcome).toMatchObject({ code: 'worker_down' })
    expect(await statesOf(base)).toEqual(['not_sent worker_down'])
    expect(await approvals(base)).toMatchObject([{ state: 'consumed' }])
    expect(sent(world)).toBe(0)
    const again = await askHeld(world, { era })
    await decide(base, 'approve')
    world.answer(await world.worker.intent())
    expect(await again.outcome).toMatchObject({ kind: 'result' })
  })

  test.each(['failed', 'unclear'] as const)(
    'an arrival whose commit is %s is not told that nothing was sent, and asks once when it comes again',
    async (fault) => {
      spoil(fault, 'insert')
      const outcome = await world.ask({ ...write, era })
      expect(outcome).toMatchObject({ code: 'store_unavailable', executionId: null })
      expect(errors.store_unavailable.text).not.toMatch(/sent/i)
      spoil('none')
      await quiet(world)
      const again = await askHeld(world, { era })
      await quiet(world)
      expect((await approvals(base)).filter(({ state }) => state === 'pending')).toHaveLength(1)
      await decide(base, 'approve')
      world.answer(await world.worker.intent())
      expect(await again.outcome).toMatchObject({ kind: 'result' })
      expect(sent(world)).toBe(1)
    },
  )

  test('an arrival that needs nobody, done without a word: an identical one waits until that is known', async () => {
    spoil('unclear', 'insert')
    expect(await world.ask({ ...unattended, era })).toMatchObject({ code: 'store_unavailable' })
    spoil('none')
    const again = await askHeld(world, { ...unattended, era })
    expect(sent(world)).toBe(1)
    world.worker.recoverWith = () => ({ state: 'never_started' })
    await world.recovery.round()
    world.answer(await world.worker.intent(1))
    expect(await again.outcome).toMatchObject({ kind: 'result' })
    expect(await statesOf(world)).toEqual(['not_sent not_sent', 'succeeded'])
    expect(executionOf(world, 1)).not.toBe(executionOf(world, 0))
  })

  test('an outcome that could not be recorded is told, recorded later, and not asked for again meanwhile', async () => {
    const first = await askSent(world, { era })
    spoil('failed', 'settle')
    world.answer(first.intent, {}, raw)
    const told = await first.outcome
    expect(told).toMatchObject({ kind: 'result' })
    await spoiled()
    const second = await askHeld(world, { ...unattended, era })
    expect(sent(world)).toBe(1)
    spoil('none')
    await until(async () => (await base.store.executions.get(first.id))?.state === 'succeeded')
    await take(world, told)
    world.answer(await world.worker.intent(1))
    expect(await second.outcome).toMatchObject({ kind: 'result' })
  })

  test('that an answer was lost is recorded later when it could not be at once', async () => {
    const first = await askSent(world, { era })
    world.answer(first.intent, {}, raw)
    const told = await first.outcome
    await world.group.drained()
    spoil('failed', 'moveCallers')
    if (told.kind !== 'waiting') told.delivery?.lost()
    await spoiled()
    spoil('none')
    await world.group.drained()
    world.step(120_000)
    await renew(world)
    const again = await world.ask({ ...unattended, era })
    expect(again).toMatchObject({ kind: 'result', executionId: first.id, earlier: {} })
    expect(sent(world)).toBe(1)
  })

  test('who comes for an outcome while the database is away is told so, and has it afterwards', async () => {
    const call = await askHeld(world, { era })
    const { executionId } = await pending(base)
    await call.leave()
    const collect = () => world.desk.collect({ session: world.session, era, executionId })
    spoil('failed', 'moveCallers')
    expect(await collect()).toMatchObject({ code: 'store_unavailable' })
    spoil('none')
    await quiet(world)
    expect(await rowsOf(base)).toMatchObject([
      { caller: era === 'legacy' ? 'detached' : 'held_back' },
    ])
    const outcome = collect()
    await quiet(world)
    await decide(base, 'approve')
    world.answer(await world.worker.intent())
    expect(await outcome).toMatchObject({ kind: 'result', executionId })
  })
})
