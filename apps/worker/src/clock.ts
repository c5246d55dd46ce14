export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds on a clock that never steps. */
  monotonic(): number
  /** Runs once after `ms`; the answer calls it off. */
  after(ms: number, run: () => void): () => void
}

/** The longest a timer of Node can wait. */
const longest = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, run) => {
    const timer = setTimeout(run, Math.min(Math.max(ms, 0), longest))
    return () => clearTimeout(timer)
  },
}
