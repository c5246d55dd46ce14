/** Ties one call to what may end it: its place among the session's calls, an explicit cancel, the guest walking away. */
import type { RunningCall } from './cancel-book.ts'
import type { Exchange } from './exchange.ts'

export class GuestCall {
  readonly #controller = new AbortController()
  readonly #running: RunningCall | undefined
  readonly #exchange: Exchange
  #isSettled = false
  #hasLeft = false

  /** Takes over one `beginCall` of the session's traffic. */
  constructor(exchange: Exchange) {
    this.#exchange = exchange
    const { res, id, cancelScope, traffic } = exchange
    if (cancelScope !== null)
      this.#running = traffic.cancels.begin(cancelScope, id, this.#controller)
    if (res.closed) this.#onLeft()
    else res.once('close', () => this.#onLeft())
  }

  /** Aborted with `cancelled` or `closed` as the reason. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Its cancel came before it. */
  get isTakenBack(): boolean {
    return this.#exchange.cancelScope !== null && this.#running === undefined
  }

  /** Its outcome is known. */
  settle(): void {
    this.#isSettled = true
    this.#running?.end()
    this.#free()
  }

  /** Its answer has left, or nobody is there to take it: a cancel in 2026-07-28, nothing in the eras before. */
  #onLeft(): void {
    this.#hasLeft = true
    if (this.#exchange.era === 'modern' && !this.#isSettled) this.#controller.abort('closed')
    this.#free()
  }

  /** Only both make room for another call: a guest that reads nothing must not pile up answers. */
  #free(): void {
    if (this.#isSettled && this.#hasLeft) this.#exchange.traffic.endCall()
  }
}
