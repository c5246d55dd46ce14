/**
 * The real call path of two gateways, the real order book of a worker, and everything that may come in between, in
 * every order that differs in few places from what usually happens, then in some that differ in more.
 *
 * SALLYPORT_TEST_SCHEDULE='one write:0,0,3' plays one schedule again and tells what went on; SALLYPORT_TEST_SEED brings
 * the random ones back.
 */
import { describe, expect, test, vi } from 'vitest'
import { randomFrom, seededRandom } from '../system/random.ts'
import { Guest, Resolver, Revoker, type Wanted } from './laboratory/actors.ts'
import { type Found, type Open, replay, searchFew, searchSome } from './laboratory/explore.ts'
import { type Actor, Laboratory, type LaboratoryOptions } from './laboratory/laboratory.ts'
import { sabotages } from './laboratory/sabotages.ts'

vi.setConfig({ testTimeout: 120_000 })

const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'
const [, givenScenario, givenPicks] =
  /^(.+):([\d,]*)$/.exec(process.env['SALLYPORT_TEST_SCHEDULE'] ?? '') ?? []

const write = (at: Wanted['at'], n: number): Wanted => ({
  at,
  tool: 'write',
  argumentsText: `{"n":${n}}`,
})
const read = (at: Wanted['at']): Wanted => ({ at, tool: 'read', argumentsText: '{}' })

interface Scenario {
  readonly actors: () => readonly Actor[]
  readonly seesDeaths?: boolean
  /** With at most one deviation. */
  readonly least: number
}

const scenarios: Readonly<Record<string, Scenario>> = {
  'one write': {
    actors: () => [new Guest(write(0, 1)), new Resolver()],
    least: 100,
  },
  'one write whose grant is revoked': {
    actors: () => [new Guest(write(0, 1)), new Revoker()],
    least: 100,
  },
  'identical writes at two gateways': {
    actors: () => [new Guest(write(0, 1), write(1, 1)), new Resolver()],
    least: 150,
  },
  'two writes and a read in one batch': {
    actors: () => [new Guest(write(0, 1), write(0, 2), read(0)), new Resolver(), new Revoker()],
    least: 150,
  },
  'one write, and nobody can tell whether a worker lives': {
    actors: () => [new Guest(write(0, 1)), new Resolver()],
    seesDeaths: false,
    least: 100,
  },
}
const names = Object.keys(scenarios)

/** Every so many schedules the journal is verified. */
function opening(name: string, journalEvery = 1, sabotage: Partial<LaboratoryOptions> = {}): Open {
  const { actors, seesDeaths = true } = scenarios[name] as Scenario
  return (schedule) => {
    const verifiesJournal = schedule % journalEvery === 0
    return Laboratory.open({ ...sabotage, seesDeaths, verifiesJournal, actors: actors() })
  }
}

/** All that is needed to look into it. */
function tell(name: string, found: Found | undefined): string | undefined {
  if (!found) return undefined
  const again = `SALLYPORT_TEST_SCHEDULE='${name}:${found.picked.join(',')}'`
  return [found.message, again, ...found.lines].join('\n')
}

describe('the call path keeps every law', () => {
  test.each(names)('%s: in all schedules with one deviation', async (name) => {
    const { schedules, found } = await searchFew(opening(name), 1)
    expect(tell(name, found)).toBeUndefined()
    expect(schedules).toBeGreaterThan((scenarios[name] as Scenario).least)
  })

  const share = isThorough ? 'all' : 'two of five'
  test.each(isThorough ? names : ['one write'])(
    `%s: in ${share} schedules with two deviations`,
    async (name) => {
      const random = seededRandom()
      const isTaken = (): boolean => isThorough || random.below(5) < 2
      const { schedules, found } = await searchFew(opening(name, 10), 2, isTaken)
      expect(tell(name, found)).toBeUndefined()
      expect(schedules).toBeGreaterThan(8_000)
    },
    900_000,
  )

  test.each(names)(
    '%s: in schedules with more deviations, at random',
    async (name) => {
      const random = seededRandom()
      const schedules = isThorough ? 20_000 : 800
      const { found } = await searchSome(opening(name), random, schedules)
      expect(found && `seed ${random.seed}\n${tell(name, found)}`).toBeUndefined()
    },
    900_000,
  )
})

test('schedules at random come to every end that a write can have, and to every way of asking again', async () => {
  const seen = new Set<string>()
  const name = 'identical writes at two gateways'
  const laboratories: Laboratory[] = []
  const open: Open = async (schedule) => {
    const laboratory = await opening(name)(schedule)
    laboratories.push(laboratory)
    return laboratory
  }
  await searchSome(open, randomFrom(1), 1_000)
  for (const { laws } of laboratories)
    for (const { state, code } of laws.rows) seen.add(code === null ? state : `${state} ${code}`)
  expect([...seen]).toEqual(
    expect.arrayContaining([
      'succeeded',
      'not_sent not_sent',
      'not_sent expired',
      'not_sent call_cancelled',
      'unknown outcome_unknown',
      'resolved outcome_unknown',
      'refused identical_in_flight',
      'refused call_cancelled',
      'refused worker_down',
    ]),
  )
})

describe('the search finds', () => {
  test.each(sabotages)('$name', async ({ laws, gateway = {}, worker = {} }) => {
    const name = 'identical writes at two gateways'
    const open: Open = () =>
      Laboratory.open({
        gateway,
        worker,
        actors: [...(scenarios[name] as Scenario).actors(), new Revoker()],
      })
    const few = await searchFew(open, 1)
    const { found } = few.found ? few : await searchSome(open, randomFrom(1), 20_000)
    expect(laws).toContain(found?.law)
    const { failure } = await replay(open, found?.picked ?? [])
    expect(failure).toMatchObject({ law: found?.law })
  })
})

test('a schedule goes on the same every time', async () => {
  const name = 'two writes and a read in one batch'
  const picks = [0, 0, 1, 0, 0, 4, 0, 0, 2, 0, 0, 0, 7, 0, 0, 3]
  const [one, other] = [await replay(opening(name), picks), await replay(opening(name), picks)]
  expect(one.lines.length).toBeGreaterThan(picks.length)
  expect(other).toEqual(one)
})

test.runIf(givenScenario)('the given schedule keeps every law', async () => {
  const picks = (givenPicks ?? '').split(',').map(Number)
  const { lines, failure } = await replay(opening(givenScenario as string), picks)
  console.log(lines.join('\n'))
  expect(failure).toBeUndefined()
})
