/** Searches the schedules of a laboratory: all with few deviations from what usually happens, then some at random. */
import type { Random } from '../../system/random.ts'
import type { Laboratory } from './laboratory.ts'
import { LawBroken } from './law.ts'
import { type Pick, play, type Run } from './schedule.ts'

/** Makes a laboratory for the schedule of that number. */
export type Open = (schedule: number) => Promise<Laboratory>

/** A schedule after which a law is broken. */
export interface Found {
  readonly law: string
  /** Plays it again. */
  readonly picked: readonly number[]
  readonly lines: readonly string[]
  readonly message: string
}

export interface Search {
  readonly schedules: number
  readonly found: Found | undefined
}

/** From there on what usually happens. */
function follow(picked: readonly number[]): Pick {
  return (count, moment) => Math.min(picked[moment] ?? 0, count - 1)
}

export async function replay(open: Open, picked: readonly number[]): Promise<Run> {
  return play(await open(0), follow(picked))
}

/**
 * Every schedule with at most that many deviations, those with fewer first. `isTaken` may leave out some of those with
 * the most.
 */
export async function searchFew(
  open: Open,
  deviations: number,
  isTaken: () => boolean = () => true,
): Promise<Search> {
  let schedules = 0
  let level: Iterable<readonly number[]> = [[]]
  for (let depth = 0; depth <= deviations; depth++) {
    const runs: [prefix: readonly number[], run: Run][] = []
    for (const prefix of level) {
      if (depth === deviations && depth > 1 && !isTaken()) continue
      const run = await play(await open(schedules++), follow(prefix))
      if (run.failure !== undefined) return { schedules, found: foundIn(run) }
      if (depth < deviations) runs.push([prefix, run])
    }
    level = withOneMore(runs)
  }
  return { schedules, found: undefined }
}

/** The same schedules up to a later moment, and there something else. */
function* withOneMore(
  runs: readonly (readonly [prefix: readonly number[], run: Run])[],
): Generator<readonly number[]> {
  for (const [prefix, { counts, picked }] of runs)
    for (let moment = prefix.length; moment < counts.length; moment++) {
      const before = picked.slice(0, moment)
      for (let other = 1; other < (counts[moment] as number); other++) yield [...before, other]
    }
}

/** As many schedules as that, each with some deviations somewhere. */
export async function searchSome(open: Open, random: Random, schedules: number): Promise<Search> {
  for (let at = 1; at <= schedules; at++) {
    const run = await play(await open(at), someDeviations(random))
    if (run.failure !== undefined)
      return { schedules: at, found: await shortened(open, foundIn(run)) }
  }
  return { schedules, found: undefined }
}

/** Seldom in some schedules and often in others, and more often early than late. */
function someDeviations(random: Random): Pick {
  const rate = [0.05, 0.1, 0.2, 0.4][random.below(4)] as number
  let left = 2 + random.below(7)
  return (count) => {
    if (left === 0 || count === 1 || random.next() >= rate) return 0
    left--
    return 1 + random.below(count - 1)
  }
}

/** Without the deviations that it does not need. */
async function shortened(open: Open, found: Found): Promise<Found> {
  let best = found
  for (let moment = 0; moment < best.picked.length; moment++) {
    if (best.picked[moment] === 0) continue
    const fewer = best.picked.map((number, at) => (at === moment ? 0 : number))
    const run = await replay(open, fewer)
    if (run.failure !== undefined && foundIn(run).law === found.law) best = foundIn(run)
  }
  return best
}

function foundIn({ failure, picked, lines }: Run): Found {
  const law = failure instanceof LawBroken ? failure.law : 'nothing_fails'
  const end = picked.findLastIndex((number) => number !== 0) + 1
  const message =
    failure instanceof Error ? `${failure.message}\n${failure.stack}` : String(failure)
  return { law, message, picked: picked.slice(0, end), lines }
}
