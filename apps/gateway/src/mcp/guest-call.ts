/** Ties one call to what may end it: its place among the session's calls, an explicit cancel, the guest walking away. */
import type { RunningCall } from './cancel-book.ts'
import type { Exchange } from './exchange.ts'

export class GuestCall {
  readonly #leave = new AbortController()
  readonly #running: RunningCall | undefined
  readonly #exchange: Exchange
  #isSettled = false
  #hasLeft = false

  /** Takes over one `beginCall` of the session's traffic. */
  constructor(exchange: Exchange) {
    this.#exchange = exchange
    const { res, id, cancelScope, traffic } = exchange
    if (cancelScope !== null)
      this.#running = traffic.cancels.begin(cancelScope, id, new AbortController())
    if (res.closed) this.#onLeft()
    else res.once('close', () => this.#onLeft())
  }

  /** Aborted by an explicit cancel, also long after the guest has left. Undefined where the era has none. */
  get cancelled(): AbortSignal | undefined {
    return this.#running?.signal
  }

  /** Aborted when the response closes before `settle`. What that means is for the core to say. */
  get left(): AbortSignal {
    return this.#leave.signal
  }

  /** Its cancel came before it. */
  get isTakenBack(): boolean {
    return this.#exchange.cancelScope !== null && this.#running === undefined
  }

  /** Its answer is known. */
  settle(): void {
    this.#isSettled = true
    this.#running?.end()
    this.#free()
  }

  /** Its answer has left, or nobody is there to take it. */
  #onLeft(): void {
    this.#hasLeft = true
    if (!this.#isSettled) this.#leave.abort('closed')
    this.#free()
  }

  /** Only both make room for another call: a guest that reads nothing must not pile up answers. */
  #free(): void {
    if (this.#isSettled && this.#hasLeft) this.#exchange.traffic.endCall()
  }
}
