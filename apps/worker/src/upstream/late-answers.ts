/**
 * Writes that were told as uncertain because their time was over, and are read on: what still comes is evidence and
 * nothing else. Few at a time and not for long, so that servers that never answer hold nothing.
 */
import type { Clock } from '../clock.ts'

const waitMs = 60_000
const atMost = 64

export class LateAnswers {
  readonly #clock: Pick<Clock, 'after'>
  /** Oldest first. */
  readonly #waiting = new Set<() => void>()
  #isClosed = false

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock
  }

  get size(): number {
    return this.#waiting.size
  }

  /**
   * `giveUp` is called when it has taken too long, when there are too many and this is the oldest, or when the worker
   * ends. Whoever waits calls the answer once nothing can come any more.
   */
  wait(giveUp: () => void): () => void {
    const end = (): void => {
      cancel()
      this.#waiting.delete(stop)
    }
    const stop = (): void => {
      end()
      giveUp()
    }
    const cancel = this.#clock.after(waitMs, stop)
    this.#waiting.add(stop)
    const [oldest] = this.#waiting
    if (this.#isClosed) stop()
    else if (this.#waiting.size > atMost) oldest?.()
    return end
  }

  /** Gives all of them up, and whatever comes later at once. */
  close(): void {
    this.#isClosed = true
    for (const stop of [...this.#waiting]) stop()
  }
}
