/** What a run does: so many trials of each kind with each harness. */
import type { HeldCost } from './held-sockets.ts'
import { measureHeld } from './held-sockets.ts'
import type { LabWorld } from './lab-world.ts'
import { Slots } from './slots.ts'
import { bisect, type Ceiling, type Range } from './statistics.ts'
import {
  type ColdTrial,
  coldTrial,
  type Harness,
  type HeldTrial,
  type Holding,
  heldTrial,
  type Way,
} from './trial.ts'

interface Hold {
  readonly way: Way
  readonly seconds: number
  readonly trials: number
}

interface CeilingSearch {
  readonly way: Way
  /** In seconds. */
  readonly range: Range
  /** What the client is told to wait, in seconds; its own default when left out. */
  readonly limitSeconds?: number
  /** A hold time holds when all of them were accepted and continued. */
  readonly trials: number
}

export interface Plan {
  readonly holds: readonly Hold[]
  readonly ceilings: readonly CeilingSearch[]
  readonly coldTrials: number
  /** Of the calls that are held to see what one costs, twice. */
  readonly heldCalls: number
  /** Trials at once, over all harnesses. */
  readonly atOnce: number
}

/** A few minutes: so few trials decide nothing, and say so. Past the minute after which most clients drop a silent call. */
export const shortPlan = (trials: number): Plan => ({
  holds: [
    { way: 'signs', seconds: 75, trials: 1 },
    { way: 'silent', seconds: 75, trials: 1 },
    { way: 'signs', seconds: 3, trials },
  ],
  ceilings: [{ way: 'signs', range: { from: 2, to: 14, within: 2 }, limitSeconds: 8, trials: 1 }],
  coldTrials: Math.max(1, Math.ceil(trials / 2)),
  heldCalls: 128,
  atOnce: 12,
})

/** Hours. 22 trials are the fewest that can pass. */
export const longPlan = (trials: number): Plan => ({
  holds: [3, 75, 330, 660].flatMap((seconds) => [{ way: 'signs' as const, seconds, trials }]),
  ceilings: (['signs', 'silent'] as const).map((way) => ({
    way,
    range: { from: 60, to: 900, within: 15 },
    trials: 3,
  })),
  coldTrials: trials,
  heldCalls: 512,
  atOnce: 12,
})

export interface HarnessResult {
  readonly name: string
  readonly version: string
  readonly holds: readonly (Hold & { readonly results: readonly HeldTrial[] })[]
  readonly ceilings: readonly (CeilingSearch & Ceiling)[]
  readonly cold: readonly ColdTrial[]
}

export interface PlanResult {
  readonly harnesses: readonly HarnessResult[]
  readonly held: HeldCost
}

/** `told`: a line for each trial that has ended. */
export async function carryOut(
  plan: Plan,
  world: LabWorld,
  harnesses: readonly Harness[],
  told: (line: string) => void,
): Promise<PlanResult> {
  const held = await measureHeld(world, plan.heldCalls)
  const slots = new Slots(plan.atOnce)
  const all = harnesses.map((harness) => withHarness(plan, world, harness, slots, told))
  return { held, harnesses: await Promise.all(all) }
}

async function withHarness(
  plan: Plan,
  world: LabWorld,
  harness: Harness,
  slots: Slots,
  told: (line: string) => void,
): Promise<HarnessResult> {
  const { name, version } = harness
  const held = async (holding: Holding): Promise<HeldTrial> => {
    const trial = await slots.run(() => heldTrial(world, harness, holding))
    told(`${name}: ${holding.way}, held ${holding.holdMs / 1000} s: ${trial.outcome}`)
    return trial
  }
  const cold = async (): Promise<ColdTrial> => {
    const trial = await slots.run(() => coldTrial(world, harness))
    told(`${name}: cold: ${trial.matched ? 'matched' : 'not matched'}`)
    return trial
  }
  const [holds, ceilings, colds] = await Promise.all([
    Promise.all(
      plan.holds.map(async (hold) => {
        const holding = { way: hold.way, holdMs: hold.seconds * 1000 }
        return { ...hold, results: await times(hold.trials, () => held(holding)) }
      }),
    ),
    Promise.all(
      plan.ceilings.map(async (search) => ({ ...search, ...(await climb(search, held)) })),
    ),
    times(plan.coldTrials, cold),
  ])
  return { name, version, holds, ceilings, cold: colds }
}

const times = <T>(count: number, work: () => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, work))

function climb(
  { way, range, limitSeconds, trials }: CeilingSearch,
  held: (holding: Holding) => Promise<HeldTrial>,
): Promise<Ceiling> {
  const callLimitMs = limitSeconds === undefined ? undefined : limitSeconds * 1000
  return bisect(range, async (seconds) => {
    const results = await times(trials, () => held({ way, holdMs: seconds * 1000, callLimitMs }))
    return results.every(({ outcome }) => outcome === 'accepted-and-continued')
  })
}
