/** Plays a schedule of kills in a world and checks everything that must be true afterwards. */
import { expect } from 'vitest'
import { verifyRunning } from '../../apps/cli/src/audit/verify-journal.ts'
import type { CallApi } from '../harness/call-api.ts'
import { eventually } from '../system/eventually.ts'
import { type Random, randomFrom } from '../system/random.ts'
import type { CrashWorld } from './crash-world.ts'
import { Crowd } from './crowd.ts'
import { endLaws, journalLaws, wordLaws } from './end-laws.ts'
import { type Done, Killer } from './killer.ts'
import { historyLaws, momentLaws } from './laws.ts'
import type { Ledger } from './ledger.ts'
import { People } from './people.ts'
import type { Kill } from './steps.ts'
import { storyOf } from './story.ts'
import type { Effect } from './upstream-program.ts'

export interface Played {
  readonly done: readonly Done[]
  /** Writes in flight at a kill, of which no kill counts more than 16. */
  readonly trials: number
  readonly writes: number
  readonly effects: number
  readonly problems: readonly string[]
  /** Of the writes that problems name. */
  readonly stories: readonly string[]
}

export interface PlayOptions {
  readonly random: Random
  readonly isEmbedded: boolean
  /** How long rows may stay dispatching after the last kill. */
  readonly settleMs: number
}

const width = 16
const endWithinMs = 120_000
const denyOneIn = 12

export async function playSchedule(
  world: CrashWorld,
  kills: readonly Kill[],
  options: PlayOptions,
): Promise<Played> {
  const play = begin(world, options)
  const { crowd, killer, people } = play
  try {
    await killer.play(kills)
  } finally {
    await crowd.end(endWithinMs)
    await people.stop()
  }
  const { api } = world.hosts[0].sallyport
  await untilSettled(api, options.settleMs)
  const problems = [...killer.problems, ...crowd.problems, ...(await verify(api))]
  const ledger = await lastLook(world, options.isEmbedded)
  const effects = world.upstream.effects()
  problems.push(...lastLaws(play, ledger, effects))
  const wrong = crowd.writes.filter(({ id }) => problems.some((problem) => problem.includes(id)))
  return {
    done: killer.done,
    trials: killer.done.reduce((sum, { inFlight }) => sum + Math.min(inFlight, width), 0),
    writes: crowd.writes.length,
    effects: effects.length,
    problems,
    stories: wrong.map((write) => storyOf(write, ledger, effects)),
  }
}

interface Play {
  readonly people: People
  readonly crowd: Crowd
  readonly killer: Killer
}

/** Each has random numbers of its own: how fast one of them is does not change what the others do. */
function begin(world: CrashWorld, { random, isEmbedded }: PlayOptions): Play {
  const own = () => randomFrom(random.below(2 ** 31))
  let asked = 0
  const people = new People({
    random: own(),
    api: () => world.hostFor(asked++ % world.hosts.length).sallyport.api,
    upstream: world.upstream,
    denyOneIn,
    slowFor: new Set(world.sessions.flatMap(({ brief }) => brief.map(({ id }) => id))),
  })
  const crowd = new Crowd({ world, people, random: own(), width })
  const killer = new Killer({ world, crowd, random: own(), isEmbedded })
  return { people, crowd, killer }
}

async function untilSettled(api: CallApi, ms: number): Promise<void> {
  const look = async () => (await api('execution.list', { state: 'dispatching' })).items
  await eventually(look, ({ length }) => length === 0, ms)
}

/** As `sallyport audit verify`. */
async function verify(api: CallApi): Promise<string[]> {
  const call = (name: Parameters<CallApi>[0], asked: { query?: object; body?: object }) =>
    api(name, withoutNothing(asked.query), asked.body as never)
  const { findings } = await verifyRunning(call as unknown as Parameters<typeof verifyRunning>[0])
  return findings.map((finding) => `the journal: ${JSON.stringify(finding)}`)
}

function withoutNothing(query: object = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined))
}

async function lastLook({ hosts, readLedger }: CrashWorld, isEmbedded: boolean): Promise<Ledger> {
  if (isEmbedded) await hosts[0].kill('gateway')
  return readLedger({ withJournal: true })
}

function lastLaws(
  { people, crowd, killer }: Play,
  ledger: Ledger,
  effects: readonly Effect[],
): string[] {
  return [
    ...momentLaws(ledger, effects),
    ...(killer.seen ? historyLaws(killer.seen, ledger) : []),
    ...journalLaws(ledger),
    ...endLaws(ledger, effects, crowd.writes),
    ...wordLaws(ledger, people.decided, people.resolved.keys()),
  ]
}

/** Fails with what is broken, the stories of the first writes that are, and how to see it again. */
export function expectLawful({ problems, stories }: Played, seed: number): void {
  const told = stories.slice(0, storiesAtMost).join('\n\n')
  expect(problems, `SALLYPORT_TEST_SEED=${seed}\n${told}`).toEqual([])
}

const storiesAtMost = 3

/** Of several plays together, for the log of a run. */
export function summaryOf(plays: readonly Played[]): string {
  const done = plays.flatMap((play) => play.done)
  const sum = (of: (play: Played) => number): number => plays.reduce((all, one) => all + of(one), 0)
  const missed = done.filter(({ isHit }) => !isHit).map(({ kill }) => kill)
  const hits = done.length - missed.length
  return `${done.length} kills, ${hits} at their step; ${sum(({ trials }) => trials)} trials; ${sum(({ writes }) => writes)} writes, ${sum(({ effects }) => effects)} effects${missed.length > 0 ? `; not taken in time: ${missed.join(', ')}` : ''}`
}
