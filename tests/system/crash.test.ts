/** Processes killed in the middle of calls: what the journal says afterwards, and what the upstream saw. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, type TestContext, test, vi } from 'vitest'
import { killAndProveGone } from '../harness/processes.ts'
import { connectAndGrant, type GrantSpec, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { startPostgres } from '../postgres/start-postgres.ts'
import { type CountedUpstream, startCountedUpstream } from './counted-upstream.ts'
import { type Kill, runTrials } from './crash-trials.ts'
import { eventually } from './eventually.ts'
import { argumentsDigest, rowOf, rowsOf, untilSettled } from './journal.ts'
import { type Random, randomFrom, seededRandom } from './random.ts'
import { type CallAnswer, type Era, RawGuest } from './raw-guest.ts'

interface World {
  readonly upstream: CountedUpstream
  readonly sallyport: Sallyport
  readonly session: OpenSession
  guest(era?: Era): RawGuest
}

// Many Sallyports start at once here.
vi.setConfig({ testTimeout: 90_000 })

const leaseMs = 15_000
const mostlyGateways: readonly Kill[] = [
  ...Array<Kill>(6).fill('gateway'),
  'start',
  'start',
  'both',
  'worker',
]
const byNumber = (a: number, b: number): number => a - b

async function startWorld(
  { onTestFinished }: TestContext,
  callMs = 60_000,
  args: readonly string[] = [],
): Promise<World> {
  const upstream = await startCountedUpstream()
  onTestFinished(() => upstream.close())
  const sallyport = await startSallyport({ args })
  onTestFinished(() => sallyport.remove())
  const session = await connectAndGrant(sallyport, grants(upstream, callMs))
  const guest = (era: Era = 'modern') => {
    const { token } = session
    return new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/counted`, token, era })
  }
  return { upstream, sallyport, session, guest }
}

function grants({ url }: CountedUpstream, callMs: number): GrantSpec {
  return {
    name: 'counted',
    url,
    limits: { callMs },
    profile: 'unattended',
    read: ['look'],
    write: ['store'],
    unattended: true,
    identicalOnly: true,
  }
}

/** Sends a call that the upstream holds. Resolves, with a promise of the answer beside, when the upstream has it. */
async function begin({ upstream, guest }: World, tool: string, given: Held, era?: Era) {
  const answer: Promise<CallAnswer | 'cut off'> = guest(era)
    .call(tool, JSON.stringify(given))
    .catch(() => 'cut off')
  await upstream.began(given.id)
  return { answer }
}

/** Resolves once a call passes again. */
async function untilServed({ guest }: World): Promise<void> {
  const state = async () => (await guest().call('look', '{"id":"probe"}')).text
  await eventually(state, (text) => text === 'done', 15_000)
}

type Held = { fail?: boolean; hold: true; id: string }

test.concurrent('answers that come while the gateway is dead are settled with their digests', async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  await guest().call('store', '{"id":"control"}')
  const control = await rowOf(sallyport, session.id, { id: 'control' })
  const cases = [
    ['store', { hold: true, id: 'write' }, 'modern', 'succeeded'],
    ['store', { hold: true, id: 'legacy' }, 'legacy', 'succeeded'],
    ['look', { hold: true, id: 'read' }, 'modern', 'succeeded'],
    ['store', { fail: true, hold: true, id: 'failed' }, 'modern', 'tool_error'],
  ] as const
  const answers = []
  for (const [tool, given, era] of cases) answers.push(await begin(world, tool, given, era))
  await sallyport.kill()
  for (const [, { id }] of cases) upstream.release(id)
  expect(await Promise.all(answers.map(({ answer }) => answer))).toEqual(cases.map(() => 'cut off'))
  await sallyport.restart()
  await untilSettled(sallyport, session.id, 10_000)
  for (const [, given, , state] of cases) {
    const row = await rowOf(sallyport, session.id, given)
    expect(row).toMatchObject({ state, resultDigest: expect.stringMatching(/^sha256:/) })
    if (state === 'succeeded') expect(row.resultDigest).toBe(control.resultDigest)
  }
  expect(upstream.written().map(upstream.effects)).toEqual([1, 1, 1, 1])
  expect(await guest().call('look', '{"id":"after"}')).toMatchObject({ text: 'done' })
})

test.concurrent('what still runs after a restart is waited for, and ends as the upstream ends it', async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  await begin(world, 'store', { hold: true, id: 'late' })
  await sallyport.kill()
  await sallyport.restart()
  const late = () => rowOf(sallyport, session.id, { hold: true, id: 'late' })
  expect(await late()).toMatchObject({ state: 'dispatching' })
  const again = guest().call('store', '{"hold":true,"id":"late"}')
  upstream.release('late')
  expect((await again).text).toMatch(/done.*earlier/s)
  await eventually(late, ({ state }) => state === 'succeeded', 10_000)
  expect(upstream.effects('late')).toBe(1)
})

test.concurrent('what the upstream never answers is unknown or lost when its time is over', async (context) => {
  const world = await startWorld(context, 1_500)
  const { upstream, sallyport, session } = world
  await begin(world, 'store', { hold: true, id: 'write' })
  await begin(world, 'look', { hold: true, id: 'read' })
  await sallyport.kill()
  await sallyport.restart()
  const rows = await untilSettled(sallyport, session.id, 10_000)
  for (const { notes, finishedAt, notAfter } of rows) {
    expect(notes).toEqual({ because: 'upstream_timeout' })
    expect(Date.parse(String(finishedAt))).toBeLessThan(Date.parse(String(notAfter)))
  }
  expect(await rowStates(world, ['store', 'write'], ['look', 'read'])).toEqual(['unknown', 'lost'])
  expect(upstream.effects('write')).toBe(1)
})

test.concurrent('a killed worker makes its calls unknown and lost at once; the next worker serves', async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  const write = await begin(world, 'store', { hold: true, id: 'write' })
  const read = await begin(world, 'look', { hold: true, id: 'read' })
  const pid = sallyport.workerPid() as number
  await killAndProveGone(pid)
  const started = performance.now()
  expect(await write.answer).toMatchObject({ failure: { code: 'outcome_unknown' } })
  expect(await read.answer).toMatchObject({ failure: { code: 'outcome_lost' } })
  expect(performance.now() - started).toBeLessThan(5_000)
  await untilSettled(sallyport, session.id, 5_000)
  await untilServed(world)
  expect(sallyport.workerPid()).not.toBe(pid)
  const states = await rowStates(world, ['store', 'write'], ['look', 'read'])
  expect(states).toEqual(['unknown', 'lost'])
  expect(await guest().call('store', '{"hold":true,"id":"write"}')).toMatchObject({
    failure: { code: 'outcome_unknown' },
  })
  expect(upstream.effects('write')).toBe(1)
})

test.concurrent('with gateway and worker killed, what was sent is unknown or lost soon after the restart', async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  await begin(world, 'store', { hold: true, id: 'write' })
  await begin(world, 'look', { hold: true, id: 'read' })
  await sallyport.kill()
  await killAndProveGone(sallyport.workerPid() as number)
  await sallyport.restart()
  await untilSettled(sallyport, session.id, 5_000)
  expect(await rowStates(world, ['store', 'write'], ['look', 'read'])).toEqual(['unknown', 'lost'])
  expect(upstream.effects('write')).toBe(1)
  expect(await guest().call('store', '{"id":"after"}')).toMatchObject({ text: 'done' })
})

test('a gateway suspended past its lease goes on as if nothing was', {
  timeout: 60_000,
}, async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  const write = await begin(world, 'store', { hold: true, id: 'write' })
  const read = await begin(world, 'look', { hold: true, id: 'read' })
  process.kill(sallyport.pid, 'SIGSTOP')
  upstream.release('write')
  await sleep(leaseMs + 2_000)
  process.kill(sallyport.pid, 'SIGCONT')
  expect(await write.answer).toMatchObject({ isError: false, text: 'done' })
  upstream.release('read')
  expect(await read.answer).toMatchObject({ isError: false, text: 'done' })
  expect(await guest().call('store', '{"id":"after"}')).toMatchObject({ text: 'done' })
  await untilSettled(sallyport, session.id, 5_000)
  expect(await rowStates(world, ['store', 'write'], ['look', 'read'])).toEqual([
    'succeeded',
    'succeeded',
  ])
})

test.concurrent('gateways killed while they start leave one worker, every row and the session as they were', async (context) => {
  const world = await startWorld(context)
  const { upstream, sallyport, session, guest } = world
  await begin(world, 'store', { hold: true, id: 'write' })
  await sallyport.kill()
  for (const afterMs of [5, 100, 250, 400, 600, 900]) await sallyport.killStarting(afterMs)
  upstream.release('write')
  await sallyport.restart()
  await untilSettled(sallyport, session.id, 5_000)
  expect(await rowStates(world, ['store', 'write'])).toEqual(['succeeded'])
  // Without a worker that could be adopted, each start begins one.
  await sallyport.kill()
  await killAndProveGone(sallyport.workerPid() as number)
  for (const afterMs of [400, 600, 800, 1_000, 1_200]) await sallyport.killStarting(afterMs)
  await sallyport.restart()
  expect(await guest().call('look', '{"id":"after"}')).toMatchObject({ text: 'done' })
  expectOneWorker(sallyport)
})

test.concurrent('a second up on the same data folder is refused and changes nothing for the first', async (context) => {
  const { sallyport, guest } = await startWorld(context)
  const { dataDir } = sallyport
  await expect(startSallyport({ dataDir })).rejects.toThrow(/data_in_use: /)
  expect(await guest().call('look', '{"id":"after"}')).toMatchObject({ text: 'done' })
})

async function rowStates({ sallyport, session }: World, ...calls: [tool: string, id: string][]) {
  const rows = await rowsOf(sallyport, session.id)
  return calls.map(([tool, id]) => {
    const digest = argumentsDigest({ hold: true, id })
    return rows.find((row) => row.tool === tool && row.argumentsDigest === digest)?.state
  })
}

const seeds = seededRandom()
const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const trials = isThorough ? 300 : 36
const lanes = 3

for (let lane = 1; lane <= lanes; lane++) {
  const random = randomFrom(seeds.below(2 ** 31))
  test.concurrent(`killed at ${trials / lanes} random moments, lane ${lane}: every call has its row, none its effect twice (seed ${seeds.seed})`, {
    timeout: trials * 10_000,
  }, async (context) => {
    const world = await startWorld(context)
    const kills = Array.from({ length: trials / lanes }, () => random.pick(mostlyGateways))
    await expectLawful(world, { random, kills, settleMs: 15_000 })
  })
}

// Another gateway might hold the lease there, so rows wait for it to lapse.
test.runIf(isThorough)(
  'killed at random moments on Postgres: the same',
  { timeout: 300_000 },
  async (context) => {
    const postgres = await startPostgres()
    context.onTestFinished(() => postgres.stop())
    const world = await startWorld(context, 60_000, ['--database', postgres.url])
    const random = randomFrom(seeds.below(2 ** 31))
    const kills = Array.from({ length: 40 }, () =>
      random.pick(['gateway', 'gateway', 'start'] as const),
    )
    await expectLawful(world, { random, kills: [...kills, 'both', 'worker'], settleMs: 60_000 })
  },
)

async function expectLawful(
  { sallyport, upstream }: World,
  run: { random: Random; kills: readonly Kill[]; settleMs: number },
): Promise<void> {
  const { random, kills, settleMs } = run
  const lane = { sallyport, upstream, profile: 'unattended', random, settleMs }
  const tally = await runTrials(lane, kills)
  console.info(`seed ${random.seed}: ${JSON.stringify(tally)}`)
  expect(tally.recovered).toBeGreaterThan(0)
  expectOneWorker(sallyport)
}

function expectOneWorker(sallyport: Sallyport): void {
  const known = [sallyport.pid, sallyport.workerPid() as number]
  expect(sallyport.processes().sort(byNumber)).toEqual(known.sort(byNumber))
}
