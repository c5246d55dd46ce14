import type { World } from '../world.ts'

interface Waiting {
  readonly at: number
  readonly wake: () => void
}

/** Time that passes when a test says so. */
export class SteppedClock implements Pick<World, 'now' | 'delay'> {
  #now: number
  #waiting: Waiting[] = []

  constructor(now: number) {
    this.#now = now
  }

  now = (): number => this.#now

  delay = (ms: number, until: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (until.aborted) resolve()
      until.addEventListener('abort', () => resolve(), { once: true })
      this.#waiting.push({ at: this.#now + ms, wake: resolve })
    })

  /** Milliseconds until the first of those who wait goes on; undefined when nobody waits. */
  get next(): number | undefined {
    const times = this.#waiting.map(({ at }) => at - this.#now)
    return times.length === 0 ? undefined : Math.min(...times)
  }

  step(ms: number): void {
    this.#now += ms
    const due = this.#waiting.filter(({ at }) => at <= this.#now)
    this.#waiting = this.#waiting.filter(({ at }) => at > this.#now)
    for (const { wake } of due) wake()
  }
}
