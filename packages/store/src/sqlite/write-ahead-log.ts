/**
 * Makes commits survive a power cut. SQLite writes a commit into its log without waiting for the disk; we wait for it,
 * off the event loop, and one flush serves every commit that came before it began. See docs/decisions/001.
 */
import { SallyportError } from '@sallyport/protocol'

export class WriteAheadLog {
  readonly #flushFile: () => Promise<void>
  readonly #onFailure: (error: SallyportError) => void
  #committed = 0
  #flushed = 0
  #running: Promise<void> | undefined
  #queued: Promise<void> | undefined
  #failure: SallyportError | undefined

  /**
   * `flushFile` resolves when what was written so far is on the disk. `onFailure` hears of the first flush that fails:
   * after one, what the disk holds is not known, and no later success can tell.
   */
  constructor(flushFile: () => Promise<void>, onFailure: (error: SallyportError) => void) {
    this.#flushFile = flushFile
    this.#onFailure = onFailure
  }

  /** A transaction was committed just now. */
  noteCommit(): void {
    this.#committed++
  }

  /** Resolves when every commit so far is on the disk; throws `not_durable`. */
  async flush(): Promise<void> {
    if (this.#failure) throw this.#failure
    if (this.#flushed >= this.#committed) return
    if (!this.#running) return this.#start()
    // The one that runs may have begun before the commit.
    this.#queued ??= this.#next(this.#running)
    return this.#queued
  }

  async #next(running: Promise<void>): Promise<void> {
    await running
    this.#queued = undefined
    return this.#running ?? this.#start()
  }

  #start(): Promise<void> {
    this.#running = this.#run().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #run(): Promise<void> {
    const covered = this.#committed
    try {
      await this.#flushFile()
    } catch (cause) {
      this.#failure = new SallyportError('not_durable', { cause })
      this.#onFailure(this.#failure)
      throw this.#failure
    }
    this.#flushed = covered
  }
}
