/** For tests: stands still until it is stepped. */
import type { Clock } from '../clock.ts'

export class SteppedClock implements Clock {
  #now = 0
  #timers: { readonly at: number; readonly run: () => void }[] = []

  now = (): number => this.#now
  monotonic = (): number => this.#now

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#now + ms, run }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** Timers that were set and have not run. */
  get waiting(): number {
    return this.#timers.length
  }

  step(ms: number): void {
    this.#now += ms
    const due = this.#timers.filter(({ at }) => at <= this.#now)
    this.#timers = this.#timers.filter(({ at }) => at > this.#now)
    for (const { run } of due) run()
  }
}
