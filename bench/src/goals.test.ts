import { expect, test } from 'vitest'
import { goals, smokeFailures, standingOf } from './goals.ts'
import type { LoadResult } from './load.ts'
import { Measurements, type TargetName } from './measurement.ts'
import { jsonReport, markdown } from './report.ts'
import { payloads } from './rpc.ts'

const machine = { idleRssMib: 120, coldStartMs: [500, 700, 550] }

/** Everything was measured three times; Sallyport at this rate, direct at 10,000/s, the SDK at 1,000/s. */
function measured(sallyport: number): Measurements {
  const all = new Measurements()
  const rates: Record<TargetName, number> = { direct: 10_000, sdk: 1_000, sallyport }
  for (const [target, callsPerSecond] of Object.entries(rates) as [TargetName, number][])
    for (const payload of payloads)
      for (const concurrency of [1, 16, 64])
        for (const access of ['read', 'write'] as const)
          for (const round of [0, 1, 2]) {
            const result: LoadResult = {
              calls: 100,
              callsPerSecond: callsPerSecond * (1 + round / 10),
              p50: target === 'sallyport' ? 0.5 : 0.1,
              p99: 3,
              clientUsPerCall: 30,
              servers: { gateway: { cpuUsPerCall: 110, rssMib: 150 } },
              foreign: 0,
            }
            all.add({ target, case: { concurrency, payload, access }, round, result })
          }
  return all
}

test('compares within a round, so a faster round changes no ratio', () => {
  const one = { concurrency: 64, payload: '200 B', access: 'read' } as const
  const ratio = measured(2_500).paired(one, 'direct', (a, b) => a.callsPerSecond / b.callsPerSecond)
  expect(ratio).toEqual({ median: 0.25, low: 0.25, high: 0.25 })
})

test('a smoke run fails below 70 % of a target, and names what', () => {
  expect(smokeFailures(measured(3_000), machine)).toEqual([])
  expect(smokeFailures(measured(1_760), machine)).toEqual([])
  const failures = smokeFailures(measured(1_700), machine)
  expect(failures).toHaveLength(1)
  expect(failures[0]).toContain('64 KiB text')
  expect(smokeFailures(new Measurements(), machine)).toHaveLength(4)
})

test('says whether a target or its stretch was reached, in both directions', () => {
  const ratio = goals.find(({ better }) => better === 'higher')
  const cost = goals.find(({ better }) => better === 'lower')
  if (!ratio || !cost) throw new Error('both kinds are needed')
  const at = (median: number) => ({ median, low: median, high: median })
  expect(standingOf(ratio, at(ratio.stretch))).toBe('stretch')
  expect(standingOf(ratio, at(ratio.target))).toBe('target')
  expect(standingOf(ratio, at(ratio.target * 0.99))).toBe('missed')
  expect(standingOf(cost, at(cost.stretch))).toBe('stretch')
  expect(standingOf(cost, at(cost.target))).toBe('target')
  expect(standingOf(cost, at(cost.target * 1.01))).toBe('missed')
  expect(standingOf(cost, undefined)).toBe('not measured')
})

test('the report has a row for each target and a table for each case', () => {
  const text = markdown(measured(3_000), machine)
  for (const { what } of goals) expect(text).toContain(`| ${what} |`)
  expect(text).toContain('## read, 64 KiB objects, c=16')
  expect(text).toMatch(/cold start[^\n]*550 ms \(500–700\)/)
  expect(text).not.toMatch(/NaN|undefined/)
  const parsed = JSON.parse(jsonReport(measured(3_000), machine))
  expect(parsed.goals).toHaveLength(goals.length)
})
