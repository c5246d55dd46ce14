/** Brings changes of the deny set into force: from time to time, soon after a change, and for whoever waits for that. */
import { bringDenySet, type DenySetStep, type Deps, type InFlight } from '@sallyport/core'

export interface DenyDeskDeps extends Pick<Deps, 'store' | 'journal'> {
  readonly inFlight: InFlight
  /** Monotonic, ms. */
  readonly clock: () => number
  readonly pause: (ms: number) => Promise<void>
}

/** Changes made through another gateway are found so soon; one's own are told. */
const lookEveryMs = 5_000
const askEveryMs = 100
/** Longer than whoever enforces the set has for it. */
const settleMs = 40_000

export class DenyDesk {
  readonly #deps: DenyDeskDeps
  #running: Promise<DenySetStep> | undefined
  #isChanged = true
  #lookedAt = 0

  constructor(deps: DenyDeskDeps) {
    this.#deps = deps
  }

  /** Something was changed that guests are kept from. */
  changed(): void {
    this.#isChanged = true
  }

  /** Run from second to second; mostly there is nothing to do. */
  async round(): Promise<void> {
    const { store, clock } = this.#deps
    const isDue = this.#isChanged || clock() - this.#lookedAt >= lookEveryMs
    if (isDue || (await store.denials.newest())?.state === 'staged') await this.#look()
  }

  /** Resolves when what is stored now is in force; or after a while, when it is not. */
  async settle(): Promise<void> {
    const { clock, pause } = this.#deps
    const until = clock() + settleMs
    // A look that is under way may have begun before the change.
    await this.#running?.catch(() => undefined)
    while ((await this.#look()) === 'waiting' && clock() < until) await pause(askEveryMs)
  }

  /** The newest look, one at a time. */
  #look(): Promise<DenySetStep> {
    this.#running ??= this.#bring().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #bring(): Promise<DenySetStep> {
    this.#isChanged = false
    this.#lookedAt = this.#deps.clock()
    try {
      return await bringDenySet(this.#deps, this.#deps.inFlight)
    } catch (error) {
      this.#isChanged = true
      throw error
    }
  }
}
