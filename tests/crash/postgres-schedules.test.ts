/** Schedules with a name, on Postgres, mostly with two gateways. */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import {
  afterAll,
  afterEach,
  beforeAll,
  describe,
  expect,
  type TestContext,
  test,
  vi,
} from 'vitest'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { eventually } from '../system/eventually.ts'
import { randomFrom, seededRandom } from '../system/random.ts'
import type { Era } from '../system/raw-guest.ts'
import { AskedWrite, codeOf } from './asked-write.ts'
import { type CrashWorld, startCrashWorld } from './crash-world.ts'
import { journalLaws } from './end-laws.ts'
import type { GatewayHost } from './gateway-host.ts'
import { momentLaws } from './laws.ts'
import { type Cut, PostgresProxy } from './postgres-proxy.ts'
import { shuffled } from './steps.ts'

vi.setConfig({ testTimeout: 120_000 })

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const { seed } = seededRandom()
/** Where time is short, one of them at a time. */
const eras = shuffled<Era>(['legacy', 'modern'], randomFrom(seed)).slice(0, isThorough ? 2 : 1)
const hitWithinMs = 10_000
const leaseMs = 15_000
/** A connection to an upstream that was used just now would be used again. */
const keptMs = 1_200
const settledWithinMs = 20_000
/** A write of so short a call is given up this long after its barrier: start, call, grace. */
const callMs = 1_000
const givenUpMs = 15_000 + callMs + 10_000

interface World extends CrashWorld {
  readonly url: string
}

async function twoGateways({ onTestFinished }: TestContext): Promise<World> {
  const postgres = await startPostgres()
  onTestFinished(() => postgres.stop())
  const { url } = postgres
  const world = await startCrashWorld({ postgres: { url, gateways: 2 }, callMs })
  onTestFinished(() => world.remove())
  return { ...world, url }
}

const hostsOf = ({ hosts }: CrashWorld) => hosts as readonly [GatewayHost, GatewayHost]
const sessionOf = ({ sessions }: CrashWorld, kind: 'asking' | 'unattended', nth = 0) =>
  sessions[0]?.[kind][nth] ?? expect.fail('no session')

async function expectWhole(world: CrashWorld): Promise<void> {
  const ledger = await world.readLedger({ withJournal: true })
  expect(momentLaws(ledger, world.upstream.effects())).toEqual([])
  expect(journalLaws(ledger)).toEqual([])
}

describe.each<Cut>(['unheard', 'unanswered'])('a COMMIT that is %s', (cut) => {
  let postgres: RunningPostgres
  let proxy: PostgresProxy
  let world: CrashWorld

  beforeAll(async () => {
    postgres = await startPostgres()
    proxy = await PostgresProxy.start(postgres.url)
    const { url } = postgres
    world = await startCrashWorld({ postgres: { url, through: proxy.url, gateways: 1 } })
  })
  afterAll(async () => {
    await world?.remove()
    await proxy?.stop()
    await postgres?.stop()
  })
  afterEach(() => expectWhole(world))

  test.each(eras)(
    'of a barrier that consumes an approval, %s era: sent once in the end',
    async (era) => {
      const write = new AskedWrite(world, `approved-${era}`, sessionOf(world, 'asking'), era)
      const isCut = proxy.cutNext(cut, 'consumed')
      const answer = write.ask()
      await write.approve()
      await isCut
      const told = codeOf(await answer)
      if (cut === 'unheard') expect(told).toBe('done')
      else {
        expect(told).toBe('not_sent')
        expect(write.effects).toBe(0)
        const again = write.ask()
        await write.approve()
        expect(codeOf(await again)).toBe('done')
      }
      await untilAllOver(write)
      expect(write.effects).toBe(1)
    },
  )

  test('of a barrier that needs nobody: told as unclear, and sent once in the end', async () => {
    const write = new AskedWrite(world, 'unattended', sessionOf(world, 'unattended'))
    const isCut = proxy.cutNext(cut, '"dispatching"')
    const answer = write.ask()
    await isCut
    expect(codeOf(await answer)).toBe('store_unavailable')
    expect(write.effects).toBe(0)
    const ask = async () => codeOf(await write.ask())
    await eventually(ask, (code) => code === 'done', settledWithinMs)
    await untilAllOver(write)
    expect(write.effects).toBe(1)
  })

  test('of an outcome: recorded in the end, and told at once', async () => {
    const write = new AskedWrite(world, 'outcome', sessionOf(world, 'unattended'))
    const isCut = proxy.cutNext(cut, '"succeeded"')
    expect(codeOf(await write.ask())).toBe('done')
    await isCut
    await write.row('succeeded')
    expect(write.effects).toBe(1)
  })

  test('of a decision: asked for again it is settled or done, and the write is sent once', async () => {
    const write = new AskedWrite(world, 'decision', sessionOf(world, 'asking'))
    const answer = write.ask()
    const { approvalId } = await write.row('awaiting_approval')
    const approve = () =>
      world.hosts[0].sallyport.api('approval.approve', { id: String(approvalId) }, {})
    const isCut = proxy.cutNext(cut, '"approved"')
    await expect(approve()).rejects.toThrow(/store_unavailable/)
    await isCut
    if (cut === 'unheard') await approve()
    else await expect(approve()).rejects.toThrow(/approval_settled/)
    expect(codeOf(await answer)).toBe('done')
    await untilAllOver(write)
    expect(write.effects).toBe(1)
  })
})

const untilAllOver = (write: AskedWrite) =>
  eventually(async () => (await write.rows()).map(({ state }) => state), isAllOver, settledWithinMs)
const isAllOver = (states: readonly string[]): boolean =>
  states.every((state) => ['succeeded', 'not_sent', 'refused'].includes(state))

describe.concurrent('a batch of which one approval is lost', () => {
  /** Two calls whose approvals reach the gateway in one turn, held at a step of the barrier they come to. */
  async function twoApproved(context: TestContext, step: string) {
    const world = await twoGateways(context)
    const [first, second] = hostsOf(world)
    const writes = ['kept', 'lost'].map(
      (id, nth) => new AskedWrite(world, id, sessionOf(world, 'asking', nth)),
    ) as [AskedWrite, AskedWrite]
    const answers = writes.map((write) => write.ask(first))
    for (const write of writes) await write.row('awaiting_approval', second)
    process.kill(first.sallyport.pid, 'SIGSTOP')
    for (const write of writes) await write.approve(second)
    const { plans } = first
    const role = 'gateway'
    const plan = plans.arm({ role, step, phase: 'before', nth: 1, act: 'hold', victims: [] })
    process.kill(first.sallyport.pid, 'SIGCONT')
    expect(await plans.hit(plan, hitWithinMs)).toBeDefined()
    return { world, first, second, writes, answers, release: () => plans.release(plan) }
  }

  test('before the barrier reads it: the other is sent, this one is not', async (context) => {
    const { world, second, writes, answers, release } = await twoApproved(context, 'hold keys')
    const [kept, lost] = writes
    await second.sallyport.api('session.end', { id: lost.session.id })
    release()
    expect((await Promise.all(answers)).map(codeOf)).toEqual(['done', 'session_not_open'])
    expect([kept.effects, lost.effects]).toEqual([1, 0])
    const [row] = await lost.rows(second)
    const approval = await second.sallyport.api('approval.show', { id: String(row?.approvalId) })
    expect(approval).toMatchObject({ state: 'cancelled' })
    await expectWhole(world)
  })

  test('with the whole transaction, after its intents were sent: both are sent once, by a later one', async (context) => {
    const { world, second, writes, answers, release } = await twoApproved(
      context,
      'commit(barrier)',
    )
    await endOpenTransactions(world.url)
    release()
    expect((await Promise.all(answers)).map(codeOf)).toEqual(['done', 'done'])
    expect(writes.map(({ effects }) => effects)).toEqual([1, 1])
    for (const write of writes) await write.row('succeeded', second)
    await expectWhole(world)
  })
})

async function endOpenTransactions(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
  )
  await client.end()
}

describe.concurrent.each(eras)('a gateway that stands still, in the %s era', (era) => {
  test('while its call waits: the other sends what was approved, and the call hears of it', async (context) => {
    const world = await twoGateways(context)
    const [first, second] = hostsOf(world)
    const write = new AskedWrite(world, 'waiting', sessionOf(world, 'asking'), era)
    const answer = write.ask(first)
    await write.row('awaiting_approval', second)
    process.kill(first.sallyport.pid, 'SIGSTOP')
    await sleep(leaseMs)
    await write.approve(second)
    // A modern call goes on only when it is asked for again; a legacy one by itself.
    const again = era === 'modern' ? write.ask(second) : undefined
    await eventually(
      () => write.effects,
      (effects) => effects === 1,
      30_000,
    )
    process.kill(first.sallyport.pid, 'SIGCONT')
    if (again !== undefined) expect(codeOf(await again)).toMatch(/^done/)
    await write.row('succeeded', second)
    expect(codeOf(await answer)).toMatch(/^(?:done|call_in_flight)/)
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })

  test('between its commit and the word to the worker: given up, resolved, retried at the other, sent once', async (context) => {
    const world = await twoGateways(context)
    const [first, second] = hostsOf(world)
    const write = new AskedWrite(world, 'committed', sessionOf(world, 'asking'), era)
    const answer = write.ask(first)
    await write.row('awaiting_approval', second)
    const { plans } = first
    const role = 'gateway'
    const plan = plans.arm({
      ...{ role, step: 'worker<committed', phase: 'before', nth: 1, act: 'stop', victims: [] },
    })
    await write.approve(second)
    expect(await plans.hit(plan, hitWithinMs)).toBeDefined()
    await write.row('unknown', second, givenUpMs + 20_000)
    expect(write.effects).toBe(0)
    await write.resolve('not_applied', true, second)
    const again = write.ask(second)
    await write.approve(second)
    expect(codeOf(await again)).toBe('done')
    process.kill(first.sallyport.pid, 'SIGCONT')
    await answer
    const states = await eventually(
      async () => (await write.rows(second)).map(({ state }) => state),
      (found) => !found.includes('dispatching'),
    )
    expect(states).toEqual(['resolved', 'succeeded'])
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })
})

describe.concurrent.each(eras)('a worker that is still connecting, in the %s era', (era) => {
  test('when its gateway dies, and its write is given up, resolved and retried elsewhere: sent once', async (context) => {
    const world = await twoGateways(context)
    const [first, second] = hostsOf(world)
    const write = new AskedWrite(world, 'connecting', sessionOf(world, 'asking'), era)
    const answer = write.ask(first)
    await write.row('awaiting_approval', second)
    await sleep(keptMs)
    const { plans } = first
    const role = 'worker'
    const plan = plans.arm({
      ...{ role, step: 'upstream:connect', phase: 'before', nth: 1, act: 'hold', victims: [] },
    })
    await write.approve(second)
    expect(await plans.hit(plan, hitWithinMs)).toBeDefined()
    await first.kill('gateway')
    expect(await answer).toBe('cut off')
    // It waits for the first one, until nobody can say any more what became of that.
    expect(codeOf(await write.ask(second))).toBe('outcome_unknown')
    await write.resolve('not_applied', true, second)
    const again = write.ask(second)
    await write.approve(second)
    expect(codeOf(await again)).toBe('done')
    const before = await world.upstream.connections()
    plans.release(plan)
    await eventually(
      () => world.upstream.connections(),
      (now) => now > before,
    )
    await world.upstream.quiet()
    expect(write.effects).toBe(1)
    await expectWhole(world)
  })
})
