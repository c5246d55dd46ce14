/** Whether a store may be used: until it is closed, or until a failure that cannot be mended. */
import { SallyportError } from '@sallyport/protocol'

export class Lifetime {
  #failure: SallyportError | undefined
  #isClosed = false
  #running = 0
  #idle: (() => void)[] = []

  /** Throws when nothing new may begin: the failure, or `store_unavailable` after `close`. */
  check(): void {
    this.checkSound()
    if (this.#isClosed)
      throw new SallyportError('store_unavailable', { cause: new Error('closed') })
  }

  /** Throws the failure; what had begun before `close` may go on. */
  checkSound(): void {
    if (this.#failure) throw new SallyportError(this.#failure.code, { cause: this.#failure })
  }

  /** Runs what `close` waits for. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    this.check()
    this.#running++
    try {
      return await work()
    } finally {
      this.#running--
      if (this.#running === 0) for (const wake of this.#idle.splice(0)) wake()
    }
  }

  /** The first failure stays. */
  fail(failure: SallyportError): void {
    this.#failure ??= failure
  }

  /** Lets nothing new in and waits for what runs. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#running > 0) await new Promise<void>((resolve) => this.#idle.push(resolve))
  }
}
