/** What was measured: one load run of one target in one case, many of them in turn. */
import type { LoadResult } from './load.ts'
import type { Payload } from './rpc.ts'
import { type Spread, spread } from './statistics.ts'

/** `direct`: the hand-written upstream. `sdk`: the same tools on the official SDK. */
export const targetNames = ['direct', 'sdk', 'sallyport'] as const
export type TargetName = (typeof targetNames)[number]

/** Above this share of the machine, somebody else is measured. */
export const foreignLimit = 0.2

export interface Case {
  readonly concurrency: number
  readonly payload: Payload
  readonly access: 'read' | 'write'
}

export interface Measurement {
  readonly target: TargetName
  readonly case: Case
  readonly round: number
  readonly result: LoadResult
}

export function nameOf({ access, payload, concurrency }: Case): string {
  return `${access}, ${payload}, c=${concurrency}`
}

export class Measurements {
  readonly all: Measurement[] = []

  add(measurement: Measurement): void {
    this.all.push(measurement)
  }

  of(target: TargetName, wanted: Case): Measurement[] {
    return this.all.filter((one) => one.target === target && nameOf(one.case) === nameOf(wanted))
  }

  /** Undefined where nothing was measured. */
  spread(
    target: TargetName,
    wanted: Case,
    pick: (result: LoadResult) => number,
  ): Spread | undefined {
    const values = this.of(target, wanted).map(({ result }) => pick(result))
    return values.length === 0 ? undefined : spread(values)
  }

  /** Compares within each round, since the machine is another one from round to round. */
  paired(
    wanted: Case,
    against: TargetName,
    compare: (ours: LoadResult, theirs: LoadResult) => number,
  ): Spread | undefined {
    const theirs = new Map(this.of(against, wanted).map((one) => [one.round, one.result]))
    const values = this.of('sallyport', wanted).flatMap(({ round, result }) => {
      const other = theirs.get(round)
      return other ? [compare(result, other)] : []
    })
    return values.length === 0 ? undefined : spread(values)
  }
}
