/** When a delivery is tried again; it is given up after about a day. */
const pauses = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 28_800] as const

/** Milliseconds until the next attempt after `attempts` that failed; undefined when it is given up. */
export function retryAfterMs(attempts: number): number | undefined {
  const seconds = pauses[attempts - 1]
  return seconds === undefined ? undefined : seconds * 1000
}
