/** Time as the link to the worker needs it; tests hand in one they step. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs once after that many milliseconds, unless the returned function was called before. */
  after(ms: number, run: () => void): () => void
}

/** Its timers keep no process alive. */
export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms).unref()
    return () => clearTimeout(timer)
  },
}
