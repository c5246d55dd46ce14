/** Puts the timers of the code under test into the hands of a schedule. */
import type { Program, Steps } from './steps.ts'

const real = { setImmediate, setTimeout, clearTimeout }

/** Whoever looks again as soon as that does so when time passes: it does not stop for it. */
const shortMs = 2_000
/** Who waits for others that are on their way waits for turns, and not for time. */
const companyMs = 5

/** Resolves when everything that waits for nothing but its turn as a microtask has had it. */
export function allIsStill(): Promise<void> {
  return new Promise((resolve) => {
    real.setImmediate(resolve)
  })
}

/** One clock for all, which only steps. */
export class HeldTimers {
  readonly #steps: Steps
  readonly #dues = new Set<number>()
  time = 1_000_000

  constructor(steps: Steps) {
    this.#steps = steps
  }

  readonly now = (): number => this.time

  /** To the next timer, but no farther than `most`. */
  advance(most: number): void {
    this.time = Math.min(this.time + most, ...this.#dues)
    for (const due of this.#dues) if (due <= this.time) this.#dues.delete(due)
  }

  after(ms: number, program: Program, name: string, run: () => void): () => void {
    const due = this.time + ms
    if (ms >= shortMs) this.#dues.add(due)
    const held = { program, options: [{ name, run }] as const, isReady: () => this.time >= due }
    this.#steps.hold(held)
    return () => this.#steps.drop(held)
  }

  /** From now on `setImmediate` and `setTimeout` are the timers of the program that runs. */
  replace(): void {
    const hold = (name: string, ms: number, run: () => void): (() => void) => {
      if (!this.#steps.running) throw new TypeError('a timer that belongs to nobody')
      return this.after(ms, this.#steps.running, name, run)
    }
    Object.assign(globalThis, {
      setImmediate: (run: () => void) => hold('takes its turn', 0, run),
      setTimeout: (run: () => void, ms: number) => hold('wakes', ms <= companyMs ? 0 : ms, run),
      clearTimeout: (cancel: unknown) => {
        if (typeof cancel === 'function') cancel()
      },
    })
  }

  restore(): void {
    Object.assign(globalThis, real)
  }
}
