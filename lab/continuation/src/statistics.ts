/** Shares with their intervals, medians, and the search for a ceiling. Nothing here knows what is measured. */

export interface Share {
  readonly hits: number
  readonly of: number
  /** Both ends of the 95 % interval after Wilson, between 0 and 1. Of no trials: 0 and 1. */
  readonly low: number
  readonly high: number
}

/** The normal quantile of a two-sided 95 % interval. */
const z = 1.959964

export function shareOf(hits: number, of: number): Share {
  if (!(Number.isInteger(hits) && Number.isInteger(of) && 0 <= hits && hits <= of))
    throw new TypeError('hits are a part of the trials')
  if (of === 0) return { hits, of, low: 0, high: 1 }
  const p = hits / of
  const spread = z * Math.sqrt((p * (1 - p)) / of + z ** 2 / (4 * of ** 2))
  const [middle, scale] = [p + z ** 2 / (2 * of), 1 + z ** 2 / of]
  return {
    hits,
    of,
    low: Math.max(0, (middle - spread) / scale),
    high: Math.min(1, (middle + spread) / scale),
  }
}

export type Verdict = 'passed' | 'failed' | 'undecided'

/** At least 95 of 100, and the interval does not reach below 85, which fewer than 22 trials cannot show. */
export const gate = { share: 0.95, low: 0.85, fewest: 22 } as const

/** With fewer trials than can pass none fails either: one unlucky trial is no property of a client. */
export function judge({ hits, of, low, high }: Share): Verdict {
  if (of < gate.fewest) return 'undecided'
  if (hits / of >= gate.share && low >= gate.low) return 'passed'
  if (high < gate.share) return 'failed'
  return 'undecided'
}

/** The smallest value that at least `share` of the values do not exceed; undefined of none. */
export function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
}

export interface Ceiling {
  /** The longest that held; undefined: not even the shortest did. */
  readonly holds?: number
  /** The shortest that did not; undefined: the longest held too. */
  readonly breaks?: number
  readonly probes: readonly { readonly at: number; readonly held: boolean }[]
}

export interface Range {
  readonly from: number
  readonly to: number
  /** Stops when what holds and what does not are no further apart. */
  readonly within: number
}

/** Both ends first, then by halves. `holds` must be true below one point and false above it. */
export async function bisect(
  { from, to, within }: Range,
  holds: (at: number) => Promise<boolean>,
): Promise<Ceiling> {
  if (!(from < to && within > 0)) throw new TypeError('a range from less to more')
  const probes: { at: number; held: boolean }[] = []
  const probe = async (at: number): Promise<boolean> => {
    const held = await holds(at)
    probes.push({ at, held })
    return held
  }
  if (!(await probe(from))) return { breaks: from, probes }
  if (await probe(to)) return { holds: to, probes }
  let [low, high] = [from, to]
  while (high - low > within) {
    const middle = (low + high) / 2
    if (await probe(middle)) low = middle
    else high = middle
  }
  return { holds: low, breaks: high, probes }
}
