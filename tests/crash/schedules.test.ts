/** Schedules with a name, on SQLite: each a moment that a search by chance would seldom meet. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { randomFrom, seededRandom } from '../system/random.ts'
import type { Era } from '../system/raw-guest.ts'
import { AskedWrite, codeOf } from './asked-write.ts'
import { type CrashWorld, startCrashWorld, type WorldOptions } from './crash-world.ts'
import { journalLaws } from './end-laws.ts'
import { momentLaws } from './laws.ts'
import type { Phase, Plan } from './preload/step-book.ts'
import { expectLawful, playSchedule, summaryOf } from './schedule.ts'
import { shuffled, stepKills } from './steps.ts'

vi.setConfig({ testTimeout: 90_000 })

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const { seed } = seededRandom()
/** Where time is short, one of them at a time. */
const eras = shuffled<Era>(['legacy', 'modern'], randomFrom(seed)).slice(0, isThorough ? 2 : 1)
/** How long an intent may wait for its start, and a little. */
const tooLateMs = 15_500
const hitWithinMs = 10_000
const keptMs = 1_200

async function worldFor(
  { onTestFinished }: TestContext,
  options?: WorldOptions,
): Promise<CrashWorld> {
  const world = await startCrashWorld(options)
  onTestFinished(() => world.remove())
  return world
}

type Step = Pick<Plan, 'role' | 'step' | 'act'> & { readonly phase?: Phase }

/** The next time that step is taken. Resolves with a number to release it by. */
async function reached(world: CrashWorld, step: Step, cause: () => unknown): Promise<number> {
  const { plans } = world.hosts[0]
  const { role } = step
  const plan = plans.arm({ phase: 'before', ...step, nth: 1, victims: [role] })
  await cause()
  const hit = await plans.hit(plan, hitWithinMs)
  expect(hit, `${step.step} of the ${role}`).toBeDefined()
  return plan
}

async function expectWhole(world: CrashWorld): Promise<void> {
  await world.hosts[0].kill('gateway')
  const ledger = await world.readLedger({ withJournal: true })
  expect(momentLaws(ledger, world.upstream.effects())).toEqual([])
  expect(journalLaws(ledger)).toEqual([])
}

/** Who approves may not hear of it any more: what follows from it kills. */
const unlessCutOff = (asked: Promise<void>): Promise<void> =>
  asked.catch((thrown) => {
    if (!(thrown instanceof TypeError)) throw thrown
  })

const asking = ({ sessions }: CrashWorld) => sessions[0]?.asking[0] ?? expect.fail('no session')
const flushOfBarrier: Step = { role: 'gateway', step: 'flush(barrier)', act: 'hold' }

describe.concurrent.each(eras)('a flush that stands still, in the %s era', (era) => {
  test('past the time of its intents: nothing is sent, and the write can be asked for anew', async (context) => {
    const world = await worldFor(context)
    const { plans } = world.hosts[0]
    const write = new AskedWrite(world, 'late', asking(world), era)
    const answer = write.ask()
    const plan = await reached(world, flushOfBarrier, () => write.approve())
    await sleep(tooLateMs)
    expect(write.effects).toBe(0)
    plans.release(plan)
    expect(codeOf(await answer)).toBe('expired')
    const row = await write.row('not_sent')
    expect(row).toMatchObject({ code: 'expired' })
    expect(await approvalOf(world, row.approvalId)).toMatchObject({ state: 'consumed' })

    const again = write.ask()
    await write.approve()
    expect(codeOf(await again)).toBe('done')
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })

  test('when its gateway is killed: the barrier was passed and nothing was sent', async (context) => {
    const world = await worldFor(context)
    const [host] = world.hosts
    const write = new AskedWrite(world, 'killed', asking(world), era)
    const answer = write.ask()
    await reached(world, { ...flushOfBarrier, act: 'kill' }, () => unlessCutOff(write.approve()))
    expect(await answer).toBe('cut off')
    await host.revive()
    const row = await write.row('not_sent')
    expect(await approvalOf(world, row.approvalId)).toMatchObject({ state: 'consumed' })
    const again = write.ask()
    await write.approve()
    expect(codeOf(await again)).toBe('done')
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })

  test('past the time of an approval: it expires unasked', async (context) => {
    const world = await worldFor(context, { approvalTtlSeconds: 10 })
    const { plans } = world.hosts[0]
    const write = new AskedWrite(world, 'unasked', asking(world), era)
    const flushOfQuestion: Step = { role: 'gateway', step: 'flush(ask)', act: 'hold' }
    let answer: ReturnType<AskedWrite['ask']> | undefined
    const plan = await reached(world, flushOfQuestion, () => {
      answer = write.ask()
    })
    await sleep(10_500)
    plans.release(plan)
    expect(codeOf((await answer) ?? 'cut off')).toBe('approval_expired')
    expect(write.effects).toBe(0)
    const [row] = await write.rows()
    expect(await approvalOf(world, row?.approvalId)).toMatchObject({ state: 'expired' })
    await expectWhole(world)
  })
})

const approvalOf = ({ hosts }: CrashWorld, id: string | null | undefined) =>
  hosts[0].sallyport.api('approval.show', { id: String(id) })

describe.concurrent.each(eras)('a worker that is killed, in the %s era', (era) => {
  test('before its first byte: nobody knows, and what a person allows is sent once', async (context) => {
    const world = await worldFor(context)
    const [host] = world.hosts
    const write = new AskedWrite(world, 'unsent', asking(world), era)
    const answer = write.ask()
    await reached(world, { role: 'worker', step: 'upstream<call', act: 'kill' }, () =>
      write.approve(),
    )
    expect(codeOf(await answer)).toBe('outcome_unknown')
    await host.revive()
    expect(codeOf(await write.ask())).toBe('outcome_unknown')
    expect(write.effects).toBe(0)
    await write.resolve('not_applied', true)
    const again = write.ask()
    await write.approve()
    expect(codeOf(await again)).toBe('done')
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })

  test('after the effect: nobody knows, and what a person found out is the answer, once', async (context) => {
    const world = await worldFor(context)
    const [host] = world.hosts
    const write = new AskedWrite(world, 'done', asking(world), era)
    const answer = write.ask()
    await reached(world, { role: 'worker', step: 'upstream>answer', act: 'kill' }, () =>
      write.approve(),
    )
    expect(codeOf(await answer)).toBe('outcome_unknown')
    await host.revive()
    await write.resolve('applied', false)
    expect(codeOf(await write.ask())).toBe('resolved_applied')
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })
})

describe.concurrent.each(eras)('a worker that is still connecting, in the %s era', (era) => {
  test('when its gateway dies: the next one proves that nothing was sent, and the retry is sent once', async (context) => {
    const world = await worldFor(context)
    const [host] = world.hosts
    const write = new AskedWrite(world, 'connecting', asking(world), era)
    const answer = write.ask()
    // A connection that was used just now would be used again.
    await sleep(keptMs)
    const plan = await reached(
      world,
      { role: 'worker', step: 'upstream:connect', act: 'hold' },
      () => write.approve(),
    )
    await host.kill('gateway')
    expect(await answer).toBe('cut off')
    await host.revive()
    await write.row('not_sent')
    const again = write.ask()
    await write.approve()
    expect(codeOf(await again)).toBe('done')
    const before = await world.upstream.connections()
    host.plans.release(plan)
    await eventually(
      () => world.upstream.connections(),
      (connections) => connections > before,
    )
    await world.upstream.quiet()
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })
})

describe('clocks that are wrong', () => {
  const skews = [
    ['worker is 4 s ahead', { workerSkewMs: 4_000 }],
    ['worker is 4 s behind', { workerSkewMs: -4_000 }],
    ['gateway is 4 s ahead', { skewMs: 4_000 }],
  ] as const

  test.for(shuffled(skews, randomFrom(seed)).slice(0, isThorough ? 3 : 1))(
    `while the %s, kills break nothing (seed ${seed})`,
    { timeout: 300_000 },
    async ([, skew], context) => {
      const random = randomFrom(seed)
      const world = await worldFor(context, skew)
      const played = await playSchedule(
        world,
        shuffled(stepKills('sqlite', 'own'), random).slice(0, isThorough ? 26 : 4),
        { random, isEmbedded: true, settleMs: 60_000 },
      )
      console.info(`seed ${seed}, ${JSON.stringify(skew)}: ${summaryOf([played])}`)
      expectLawful(played, seed)
    },
  )

  test('a worker whose clock is 6 s off is not worked with', async () => {
    await expect(startCrashWorld({ workerSkewMs: 6_000 })).rejects.toThrow(/clock_skew/)
  })
})
