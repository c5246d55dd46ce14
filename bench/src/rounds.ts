/** Interleaved rounds: every target in every case, again and again, each time in the other order. */
import { availableParallelism } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { LoadResult } from './load.ts'
import {
  type Case,
  foreignLimit,
  type Measurements,
  nameOf,
  type TargetName,
} from './measurement.ts'
import { runLoad } from './servers.ts'
import { machineBusyMs } from './usage.ts'

export interface Target {
  readonly name: TargetName
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Roots of process trees, by name. */
  readonly servers: Readonly<Record<string, number>>
}

export interface Plan {
  readonly rounds: number
  readonly cases: readonly Case[]
  /** Once for each target, before anything is measured. */
  readonly warmUpMs: number
  readonly warmMs: number
  readonly measureMs: number
}

const tries = 3

export async function runRounds(
  plan: Plan,
  targets: readonly Target[],
  into: Measurements,
): Promise<void> {
  for (const target of targets) {
    const warmUp = { concurrency: 16, payload: '200 B', access: 'read' } as const
    await measure(target, warmUp, plan.warmUpMs, 100)
  }
  for (let round = 0; round < plan.rounds; round++) {
    for (const one of plan.cases) {
      for (const target of round % 2 === 0 ? targets : targets.toReversed()) {
        const result = await measureQuietly(target, one, plan)
        into.add({ target: target.name, case: one, round, result })
        const rate = result.callsPerSecond.toFixed(0)
        process.stderr.write(`round ${round + 1}: ${nameOf(one)}: ${target.name} ${rate}/s\n`)
      }
    }
  }
}

/** Repeats what was disturbed, and keeps the least disturbed. */
async function measureQuietly(target: Target, one: Case, plan: Plan): Promise<LoadResult> {
  let best: LoadResult | undefined
  for (let attempt = 0; attempt < tries; attempt++) {
    await waitForQuiet()
    const result = await measure(target, one, plan.warmMs, plan.measureMs)
    if (!best || result.foreign < best.foreign) best = result
    if (best.foreign <= foreignLimit) break
  }
  return best as LoadResult
}

function measure(
  target: Target,
  { concurrency, payload, access }: Case,
  warmMs: number,
  measureMs: number,
): Promise<LoadResult> {
  const tool = access === 'read' ? 'echo' : 'echo_write'
  const { url, headers, servers } = target
  return runLoad({ url, headers, servers, tool, payload, concurrency, warmMs, measureMs })
}

async function waitForQuiet(): Promise<void> {
  const sampleMs = 100
  for (let sample = 0; sample < 20; sample++) {
    const before = machineBusyMs()
    await wait(sampleMs)
    const busy = (machineBusyMs() - before) / (sampleMs * availableParallelism())
    if (busy <= foreignLimit) return
  }
}
