/** Time as link and supervisor need it; tests hand in one they step. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Runs once after that many milliseconds, unless the returned function was called before. */
  after(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, run) {
    const timer = setTimeout(run, ms)
    return () => clearTimeout(timer)
  },
}
