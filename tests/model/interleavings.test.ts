/**
 * The real call path of two gateways, the real order book of a worker, people, and everything that may come in between, in
 * every order that differs in few places from what usually happens, then in some that differ in more.
 *
 * SALLYPORT_TEST_SCHEDULE='one write:0,0,3' plays one schedule again and tells what went on; SALLYPORT_TEST_SEED brings
 * the random ones back.
 */
import { describe, expect, test, vi } from 'vitest'
import { randomFrom, seededRandom } from '../system/random.ts'
import { type Found, type Open, replay, searchFew, searchSome } from './laboratory/explore.ts'
import type { Laboratory } from './laboratory/laboratory.ts'
import { Revoker } from './laboratory/people.ts'
import { sabotages } from './laboratory/sabotages.ts'
import { names, opening, type ScenarioName, scenarios } from './laboratory/scenarios.ts'

vi.setConfig({ testTimeout: 120_000 })

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const [, givenScenario, givenPicks] =
  /^(.+):([\d,]*)$/.exec(process.env['SALLYPORT_TEST_SCHEDULE'] ?? '') ?? []

/** All that is needed to look into it. */
function tell(name: string, found: Found | undefined): string | undefined {
  if (!found) return undefined
  const again = `SALLYPORT_TEST_SCHEDULE='${name}:${found.picked.join(',')}'`
  return [found.message, again, ...found.lines].join('\n')
}

/** Verified is the journal after every so many schedules. */
const journalEvery = isThorough ? 1 : 4

describe('the call path keeps every law', () => {
  test.each(names)('%s: in all schedules with one deviation', async (name) => {
    const { schedules, found } = await searchFew(opening(name, { journalEvery }), 1)
    expect(tell(name, found)).toBeUndefined()
    expect(schedules).toBeGreaterThan(scenarios[name].least)
  })

  const share = isThorough ? 'half of the' : 'one of twenty'
  test.each(isThorough ? names : (['one write'] as const))(
    `%s: in ${share} schedules with two deviations`,
    async (name) => {
      const random = seededRandom()
      const isTaken = (): boolean => random.below(20) < (isThorough ? 10 : 1)
      const open = opening(name, { journalEvery: 10 })
      const { schedules, found } = await searchFew(open, 2, isTaken)
      expect(found && `seed ${random.seed}\n${tell(name, found)}`).toBeUndefined()
      expect(schedules).toBeGreaterThan(750)
    },
    1_800_000,
  )

  test.each(names)(
    '%s: in schedules with more deviations, at random',
    async (name) => {
      const random = seededRandom()
      const schedules = isThorough ? 10_000 : 200
      const { found } = await searchSome(opening(name, { journalEvery }), random, schedules)
      expect(found && `seed ${random.seed}\n${tell(name, found)}`).toBeUndefined()
    },
    1_800_000,
  )
})

/** What is seen in so many schedules at random, the same ones every time. */
async function seenIn(name: ScenarioName, schedules: number): Promise<string[]> {
  const laboratories: Laboratory[] = []
  const open: Open = async (schedule) => {
    const laboratory = await opening(name, { journalEvery: schedules })(schedule)
    laboratories.push(laboratory)
    return laboratory
  }
  await searchSome(open, randomFrom(1), schedules)
  return [...new Set(laboratories.flatMap(({ laws }) => [...laws.seen]))]
}

describe('schedules at random come to', () => {
  test('every end that a write can have', async () => {
    const name = 'identical writes at two gateways'
    expect(await seenIn(name, 600)).toEqual(
      expect.arrayContaining([
        'succeeded',
        'not_sent not_sent',
        'not_sent expired',
        'not_sent call_cancelled',
        'unknown outcome_unknown',
        'resolved',
        'refused answered_by_earlier',
        'refused call_cancelled',
        'refused worker_down',
      ]),
    )
  })

  test('everything that may become of a caller and an approval', async () => {
    const seen = [
      ...(await seenIn('a write, and the same once more', 900)),
      ...(await seenIn('identical writes of one session', 900)),
    ]
    expect(seen).toEqual(
      expect.arrayContaining([
        'attached passes',
        'detached passes',
        'attached becomes detached',
        'attached becomes held_back',
        'attached becomes collected',
        'detached becomes attached',
        'held_back becomes attached',
        'held_back becomes null',
        'collected becomes detached',
        'refused approval_denied',
        'refused approval_expired',
        'refused answered_by_earlier',
        'refused outcome_unknown',
        'refused resolved_not_applied',
        'waiting',
        'answered_by_earlier',
        'call_in_flight',
      ]),
    )
  })
})

const revoking = () => [new Revoker()]

describe('the search finds', () => {
  test.each(sabotages)('$name', async (sabotage) => {
    const { laws, gateway = {}, worker = {}, scenario } = sabotage
    const open = scenario
      ? opening(scenario, { gateway, worker })
      : opening('identical writes at two gateways', { gateway, worker, actors: revoking })
    const few = await searchFew(open, 1)
    const { found } = few.found ? few : await searchSome(open, randomFrom(1), 20_000)
    expect(laws).toContain(found?.law)
    const { failure } = await replay(open, found?.picked ?? [])
    expect(failure).toMatchObject({ law: found?.law })
  })
})

/** Deviations by the moments they come at. `shows`: what goes on there; without it the schedule is another by now. */
const foundOnce: readonly {
  readonly what: string
  readonly scenario: ScenarioName
  readonly deviations: Readonly<Record<number, number>>
  readonly shows: readonly string[]
}[] = [
  {
    what: 'who comes again with its call id before it is recorded that it left collects',
    scenario: 'a write, and the same once more',
    deviations: { 8: 10, 11: 5 },
    shows: [
      'gateway 0 sees that the connection of call 1 is broken',
      'the guest asks for a write of gateway 1 (call 3, 1)',
    ],
  },
  {
    what: 'who is let go does not take its caller from another at the same gateway',
    scenario: 'identical writes of two sessions',
    deviations: { 2: 5, 12: 3 },
    shows: ['(gateway 0 stands still)', 'gateway 0 answers call 2'],
  },
  {
    what: 'neither does it in one session',
    scenario: 'identical writes of one session',
    deviations: { 3: 9, 14: 3 },
    shows: ['(gateway 0 stands still)', 'gateway 0 answers call 2'],
  },
  {
    what: 'an answer that a person had to say was not given instead',
    scenario: 'identical writes at two gateways',
    deviations: { 10: 1, 11: 4, 14: 6, 25: 8, 27: 6 },
    shows: ['gateway 1 gets no answer to a commit that was done'],
  },
  {
    what: 'what was taken over in a commit that nobody heard of waits for nobody',
    scenario: 'identical writes at two gateways',
    deviations: { 10: 2, 147: 7 },
    shows: ['gateway 0 gets no answer to a commit that is still being done'],
  },
]

test.each(foundOnce)('found once: $what', async ({ scenario, deviations, shows }) => {
  const last = Math.max(...Object.keys(deviations).map(Number))
  const picks = Array.from({ length: last + 1 }, (_, moment) => deviations[moment] ?? 0)
  const { lines, failure } = await replay(opening(scenario), picks)
  expect(failure).toBeUndefined()
  for (const line of shows) expect(lines).toContain(line)
})

test('a schedule goes on the same every time', async () => {
  const open = opening('two writes and a read in one batch')
  const picks = [0, 0, 1, 0, 0, 4, 0, 0, 2, 0, 0, 0, 7, 0, 0, 3]
  const [one, other] = [await replay(open, picks), await replay(open, picks)]
  expect(one.lines.length).toBeGreaterThan(picks.length)
  expect(other).toEqual(one)
})

test.runIf(givenScenario)('the given schedule keeps every law', async () => {
  const picks = (givenPicks ?? '').split(',').map(Number)
  const { lines, failure } = await replay(opening(givenScenario as ScenarioName), picks)
  console.log(lines.join('\n'))
  expect(failure).toBeUndefined()
})
