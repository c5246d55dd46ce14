/** Orders outside the call path: nothing is recorded of them, so each is committed with its own batch and awaited. */
import type { Order, SentBatch } from '@sallyport/core'
import { type IntentId, SallyportError } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Clock } from './clock.ts'

export interface DirectAnswer {
  readonly head: ResultHead
  readonly raw: Buffer
}

interface Waiting {
  readonly resolve: (answer: DirectAnswer) => void
  readonly reject: (error: SallyportError) => void
}

export class DirectOrders {
  readonly #clock: Clock
  readonly #waiting = new Map<IntentId, Waiting>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Rejects with `worker_down` when the connection ends or nothing comes within `ms`; throws what `send` throws. */
  async order(
    order: Order,
    ms: number,
    send: (orders: readonly Order[]) => SentBatch,
  ): Promise<DirectAnswer> {
    const batch = send([order])
    const answer = new Promise<DirectAnswer>((resolve, reject) => {
      this.#waiting.set(order.id, { resolve, reject })
    })
    const cancel = this.#clock.after(ms, () => this.#fail(order.id, new Error('no answer in time')))
    batch.commit([0])
    try {
      return await answer
    } finally {
      cancel()
    }
  }

  /** True when the result was waited for here. */
  onResult(head: ResultHead, raw: Buffer): boolean {
    if (this.#waiting.size === 0) return false
    const id = head.intent as IntentId
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    waiting?.resolve({ head, raw })
    return waiting !== undefined
  }

  /** Those that were not waited for here. */
  onLost(ids: readonly IntentId[]): IntentId[] {
    return ids.filter((id) => !this.#fail(id, new Error('the connection ended')))
  }

  #fail(id: IntentId, cause: Error): boolean {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    waiting?.reject(new SallyportError('worker_down', { cause }))
    return waiting !== undefined
  }
}
