/** Who wants what, and who decides about it. */
import type { Wanted } from './ask.ts'
import type { Open } from './explore.ts'
import { Guest, type Habits } from './guest.ts'
import { type Actor, Laboratory, type LaboratoryOptions } from './laboratory.ts'
import { Approver, Resolver, Revoker } from './people.ts'

type Given = Partial<Wanted>

const wanting =
  (tool: Wanted['tool']) =>
  (at: Wanted['at'], n = 0, given: Given = {}): Wanted => ({
    at,
    tool,
    argumentsText: `{"n":${n}}`,
    ...given,
  })
const read = wanting('read')
const write = wanting('write')
const ask = wanting('ask')
const askTwo = wanting('askTwo')

const modern: Given = { era: 'modern' }
const elsewhere: Given = { session: 'other', era: 'modern' }
const fickle: Habits = { isFickle: true, leaves: 1, again: 2 }

export interface Scenario extends Pick<LaboratoryOptions, 'seesDeaths' | 'waiting' | 'slowLane'> {
  readonly actors: () => readonly Actor[]
  /** With at most one deviation. */
  readonly least: number
}

export const scenarios = {
  'one write': {
    actors: () => [new Guest([write(0, 1)]), new Resolver()],
    least: 100,
  },
  'one write whose grant is revoked': {
    actors: () => [new Guest([write(0, 1)]), new Revoker()],
    least: 100,
  },
  'identical writes at two gateways': {
    actors: () => [new Guest([write(0, 1), write(1, 1)]), new Resolver()],
    least: 150,
  },
  'two writes and a read in one batch': {
    actors: () => [new Guest([write(0, 1), write(0, 2), read(0)]), new Resolver(), new Revoker()],
    least: 150,
  },
  'one write, and nobody can tell whether a worker lives': {
    actors: () => [new Guest([write(0, 1)]), new Resolver()],
    seesDeaths: false,
    least: 100,
  },
  'a write that a person decides': {
    actors: () => [new Guest([ask(0, 1)], fickle), new Approver(), new Resolver()],
    least: 100,
  },
  'a modern write that a person decides': {
    actors: () => [new Guest([ask(0, 1, modern)], fickle), new Approver(), new Resolver()],
    least: 100,
  },
  'a write that a person decides, and a slow worker': {
    actors: () => [new Guest([ask(0, 1)], { leaves: 1 }), new Approver(), new Resolver()],
    slowLane: 'worker',
    least: 100,
  },
  'a write, and the same once more': {
    actors: () => [
      new Guest([write(0, 1), write(1, 1)], { ...fickle, inTurn: true }),
      new Resolver(),
    ],
    least: 100,
  },
  'identical writes of one session': {
    actors: () => [
      new Guest([ask(0, 1), ask(1, 1, modern)], fickle),
      new Approver(),
      new Resolver(),
    ],
    least: 100,
  },
  'identical writes of two sessions': {
    actors: () => [
      new Guest([ask(0, 1), ask(1, 1, elsewhere)], { ...fickle, collects: true }),
      new Approver(),
      new Resolver(),
    ],
    least: 100,
  },
  'a write that two people decide': {
    actors: () => [
      new Guest([askTwo(0, 1)], { leaves: 1 }),
      new Approver({ who: 0, at: 1 }, { who: 1, at: 0 }),
    ],
    least: 100,
  },
  'two more where seven wait': {
    actors: () => [new Guest([ask(0, 1), ask(1, 2)]), new Approver()],
    waiting: 7,
    least: 100,
  },
} as const satisfies Record<string, Scenario>

export type ScenarioName = keyof typeof scenarios
export const names = Object.keys(scenarios) as ScenarioName[]

export interface Opening extends Pick<LaboratoryOptions, 'gateway' | 'worker'> {
  /** Every so many schedules the journal is verified. */
  readonly journalEvery?: number
  /** Beside those of the scenario. */
  readonly actors?: () => readonly Actor[]
}

export function opening(name: ScenarioName, { journalEvery = 1, ...given }: Opening = {}): Open {
  const { actors, least: _, ...scenario }: Scenario = scenarios[name]
  return (schedule) =>
    Laboratory.open({
      ...scenario,
      ...given,
      verifiesJournal: schedule % journalEvery === 0,
      actors: [...actors(), ...(given.actors?.() ?? [])],
    })
}
