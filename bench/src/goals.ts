/** The targets, and what was measured of each. A ratio may be asserted; absolute numbers are only printed. */
import type { Case, Measurements } from './measurement.ts'
import { type Spread, spread } from './statistics.ts'

/** Measured beside the load runs. */
export interface Machine {
  readonly idleRssMib: number
  readonly coldStartMs: readonly number[]
}

export interface Goal {
  readonly what: string
  readonly unit: '×' | 'ms' | 'µs' | 'MiB'
  readonly better: 'higher' | 'lower'
  readonly target: number
  readonly stretch: number
  /** A smoke run fails when the median is below 70 % of the target. */
  readonly asserted: boolean
  /** Undefined where the run did not measure it. */
  readonly measured: (measurements: Measurements, machine: Machine) => Spread | undefined
}

const smallCall = (access: Case['access'], concurrency: number): Case => ({
  access,
  concurrency,
  payload: '200 B',
})
const ratioTo = (against: 'direct' | 'sdk', wanted: Case) => (measurements: Measurements) =>
  measurements.paired(wanted, against, (a, b) => a.callsPerSecond / b.callsPerSecond)
const addedP50 = (access: Case['access']) => (measurements: Measurements) =>
  measurements.paired(smallCall(access, 1), 'direct', (a, b) => a.p50 - b.p50)

const ratio = { unit: '×', better: 'higher', asserted: true } as const
const number = { better: 'lower', asserted: false } as const

export const goals: readonly Goal[] = [
  {
    ...ratio,
    what: 'calls/s against direct, read, 200 B, c=64',
    target: 0.2,
    stretch: 0.3,
    measured: ratioTo('direct', smallCall('read', 64)),
  },
  {
    ...ratio,
    what: 'calls/s against the SDK server, read, 200 B, c=16',
    target: 1.5,
    stretch: 3,
    measured: ratioTo('sdk', smallCall('read', 16)),
  },
  {
    ...ratio,
    what: 'calls/s against direct, read, 64 KiB text, c=16',
    target: 0.25,
    stretch: 0.4,
    measured: ratioTo('direct', { access: 'read', payload: '64 KiB text', concurrency: 16 }),
  },
  {
    ...ratio,
    what: 'calls/s against direct, read, 64 KiB objects, c=16',
    target: 0.1,
    stretch: 0.2,
    measured: ratioTo('direct', { access: 'read', payload: '64 KiB objects', concurrency: 16 }),
  },
  {
    ...number,
    what: 'added p50, read, 200 B, c=1',
    unit: 'ms',
    target: 0.6,
    stretch: 0.35,
    measured: addedP50('read'),
  },
  {
    ...number,
    what: 'added p50, write (durable before the effect), 200 B, c=1',
    unit: 'ms',
    target: 1.2,
    stretch: 0.7,
    measured: addedP50('write'),
  },
  {
    ...number,
    what: 'p99, read, 200 B, c=64',
    unit: 'ms',
    target: 45,
    stretch: 25,
    measured: (all) => all.spread('sallyport', smallCall('read', 64), ({ p99 }) => p99),
  },
  {
    ...number,
    what: 'gateway CPU per call, read, 200 B, c=64',
    unit: 'µs',
    target: 120,
    stretch: 100,
    measured: (all) =>
      all.spread(
        'sallyport',
        smallCall('read', 64),
        ({ servers: { gateway } }) => gateway?.cpuUsPerCall ?? Number.NaN,
      ),
  },
  {
    ...number,
    what: 'resident memory of gateway and worker, idle',
    unit: 'MiB',
    target: 150,
    stretch: 110,
    measured: (_, machine) => spread([machine.idleRssMib]),
  },
  {
    ...number,
    what: 'resident memory of gateway and worker, under load, c=64',
    unit: 'MiB',
    target: 300,
    stretch: 220,
    measured: (all) =>
      all.spread('sallyport', smallCall('read', 64), ({ servers }) =>
        Object.entries(servers)
          .filter(([name]) => name !== 'upstream')
          .reduce((sum, [, { rssMib }]) => sum + rssMib, 0),
      ),
  },
  {
    ...number,
    what: 'cold start to the first tools/list',
    unit: 'ms',
    target: 600,
    stretch: 400,
    measured: (_, machine) =>
      machine.coldStartMs.length === 0 ? undefined : spread(machine.coldStartMs),
  },
]

export type Standing = 'stretch' | 'target' | 'missed' | 'not measured'

export function standingOf(goal: Goal, measured: Spread | undefined): Standing {
  if (!measured) return 'not measured'
  const reaches = (wanted: number) =>
    goal.better === 'higher' ? measured.median >= wanted : measured.median <= wanted
  if (reaches(goal.stretch)) return 'stretch'
  return reaches(goal.target) ? 'target' : 'missed'
}

const smokeShare = 0.7

/** What a smoke run fails for: an asserted ratio below the share of its target, or not measured at all. */
export function smokeFailures(measurements: Measurements, machine: Machine): string[] {
  return goals
    .filter((goal) => goal.asserted)
    .flatMap((goal) => {
      const least = goal.target * smokeShare
      const median = goal.measured(measurements, machine)?.median
      return median !== undefined && median >= least
        ? []
        : [
            `${goal.what}: ${median?.toFixed(3) ?? 'not measured'}, at least ${least.toFixed(3)} needed`,
          ]
    })
}
