/**
 * When the reader of a relay looks again: when the folder's watch says so, and after a while in any case. A watch that
 * misses what those looks find is not believed any more for some time.
 */
import type { RelayFiles } from './relay-files.ts'

export interface WakeTiming {
  /** Between looks while a watch tells of changes. */
  readonly safetyMs: number
  /** Between looks without one: while something happens, and at the longest. */
  readonly activeMs: number
  readonly idleMs: number
  /** Until a watch that was not believed is tried again. */
  readonly distrustMs: number
}

export const defaultWake: WakeTiming = {
  safetyMs: 1_000,
  activeMs: 25,
  idleMs: 1_500,
  distrustMs: 60_000,
}

const growAfter = 5
const missLimit = 3

export class Wake {
  readonly #files: Pick<RelayFiles, 'watch' | 'pauseMs'>
  readonly #timing: WakeTiming
  #unwatch: (() => void) | undefined
  #retry: NodeJS.Timeout | undefined
  #isDue = false
  /** How often the watch told of something: in all, when this look began, and when the one before it did. */
  readonly #tells = { all: 0, atThis: 0, atLast: 0 }
  #misses = 0
  #idle = 0
  #generation = 0
  #wake: (() => void) | undefined

  constructor(files: Pick<RelayFiles, 'watch' | 'pauseMs'>, timing: WakeTiming) {
    this.#files = files
    this.#timing = timing
    this.#watch()
  }

  /** Resolves when it is time. `found`: the last look found something new. */
  async next(found: boolean): Promise<void> {
    this.#judge(found)
    this.#idle = found ? 0 : this.#idle + 1
    await this.#pass(this.#files.pauseMs ?? 0, false)
    if (!this.#isDue) await this.#pass(this.#pause(), true)
    this.#isDue = false
    this.#tells.atLast = this.#tells.atThis
    this.#tells.atThis = this.#tells.all
  }

  now(): void {
    this.#isDue = true
    this.#wake?.()
  }

  stop(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
    clearTimeout(this.#retry)
    this.now()
  }

  #pause(): number {
    const { safetyMs, activeMs, idleMs } = this.#timing
    if (this.#unwatch) return safetyMs
    const grown = Math.min(20, Math.max(0, this.#idle - growAfter))
    return Math.min(idleMs, activeMs * 2 ** grown)
  }

  async #pass(ms: number, canBeWoken: boolean): Promise<void> {
    if (ms === 0) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      if (canBeWoken)
        this.#wake = () => {
          clearTimeout(timer)
          resolve()
        }
    })
    this.#wake = undefined
  }

  /** A look that found what no change had been told of: what it finds may have come since the last one began. */
  #judge(found: boolean): void {
    if (found) this.#misses = this.#tells.all > this.#tells.atLast ? 0 : this.#misses + 1
    if (this.#unwatch && this.#misses >= missLimit) this.#distrust()
  }

  #watch(): void {
    const { watch } = this.#files
    if (!watch) return
    this.#misses = 0
    const generation = ++this.#generation
    // A watch that is over may still tell that it failed, and that says nothing of the one after it.
    const failed = (): void => {
      if (generation === this.#generation) this.#distrust()
    }
    try {
      this.#unwatch = watch(() => {
        this.#tells.all++
        this.now()
      }, failed)
    } catch {
      failed()
    }
  }

  #distrust(): void {
    this.#unwatch?.()
    this.#unwatch = undefined
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#watch(), this.#timing.distrustMs)
    this.#retry.unref()
  }
}
