/** Medians with their range: single numbers from a shared machine mean little. */
export interface Spread {
  readonly median: number
  readonly low: number
  readonly high: number
}

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = (sorted.length - 1) / 2
  const median =
    ((sorted[Math.floor(middle)] ?? Number.NaN) + (sorted[Math.ceil(middle)] ?? Number.NaN)) / 2
  return { median, low: sorted[0] ?? Number.NaN, high: sorted.at(-1) ?? Number.NaN }
}

/** `share` between 0 and 1. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
