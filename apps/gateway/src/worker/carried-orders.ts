/**
 * The orders one connection carries, until their results come. A batch belongs to its connection: its decision goes
 * nowhere else, and what the connection took with it when it ended is told as lost.
 */
import type { Order, SentBatch } from '@sallyport/core'
import { type IntentId, Register } from '@sallyport/protocol'
import {
  type AbortHead,
  type BodyHead,
  batchPayload,
  type CommittedHead,
  type Digest,
  digestBytes,
  encodeFrame,
  type IntentsHead,
  type ResultHead,
  SealBook,
  type SettledHead,
} from '@sallyport/protocol/node'
import type { Channel } from './channel.ts'

/** Signs the payload of a batch; a JWS. */
export type SignBatch = (payload: string) => string

export interface CarriedEvents {
  result(head: ResultHead, raw: Buffer): void
  lost(ids: readonly IntentId[]): void
}

interface Batch {
  readonly digest: Digest
  readonly ids: readonly IntentId[]
  /** Results that came before the decision: the worker may refuse an order at once, but nobody waits for it yet. */
  early: { readonly head: ResultHead; readonly raw: Buffer }[] | undefined
}

export class CarriedOrders {
  readonly #channel: Channel
  readonly #sign: SignBatch
  readonly #events: CarriedEvents
  readonly #open = new Register<IntentId, Batch>()
  readonly #seals = new SealBook()
  #settled: IntentId[] = []

  constructor(channel: Channel, sign: SignBatch, events: CarriedEvents) {
    this.#channel = channel
    this.#sign = sign
    this.#events = events
  }

  /** Throws RangeError, before anything is sent, when a frame would be over the limit. */
  send(orders: readonly Order[]): SentBatch {
    const payload = batchPayload(orders.map(({ digest }) => digest))
    const batch: Batch = {
      digest: digestBytes(payload),
      ids: orders.map(({ id }) => id),
      early: [],
    }
    const head: IntentsHead = { batch: batch.digest, jws: this.#sign(payload) }
    const texts = orders.map(({ text }) => text).join('\n')
    this.#channel.send(
      encodeFrame('intents', head, texts),
      ...orders.map((order) => this.#encodeBody(order)),
    )
    // The worker judges it while it is committed. Many share the price of leaving, and most of them wait for others anyway.
    if (orders.length === 1) this.#channel.flush()
    for (const id of batch.ids) this.#open.set(id, batch)
    return {
      commit: (admitted) => this.#commit(batch, admitted),
      abort: () => this.#abort(batch),
    }
  }

  #encodeBody({ id, endpointSeal, credentialSeal, argumentsText }: Order): Buffer {
    const head: BodyHead = {
      intent: id,
      ...(endpointSeal !== undefined && this.#isNew(endpointSeal)
        ? { endpoint: endpointSeal }
        : {}),
      ...(credentialSeal !== undefined && this.#isNew(credentialSeal)
        ? { credential: credentialSeal }
        : {}),
    }
    return encodeFrame('body', head, argumentsText)
  }

  /** True once for each seal, or again after the worker has forgotten it. */
  #isNew(seal: string): boolean {
    if (this.#seals.get(seal) !== undefined) return false
    this.#seals.add(seal, seal)
    return true
  }

  /** Leaves with whatever else leaves in this turn. */
  settled(ids: readonly IntentId[]): void {
    if (!this.#channel.isOpen) return
    this.#settled.push(...ids)
    this.#channel.wake()
  }

  flushing(): Buffer[] {
    if (this.#settled.length === 0) return []
    const head: SettledHead = { intents: this.#settled }
    this.#settled = []
    return [encodeFrame('settled', head)]
  }

  onResult(head: ResultHead, raw: Buffer): void {
    const id = head.intent as IntentId
    const early = this.#open.get(id)?.early
    if (early) {
      early.push({ head, raw })
      return
    }
    this.#open.delete(id)
    this.#events.result(head, raw)
  }

  /** Orders of undecided batches are told when they are committed: until then they are not in flight. */
  onClosed(): void {
    this.#lose(this.#open.entries().flatMap(([id, batch]) => (batch.early ? [] : [id])))
  }

  #commit(batch: Batch, admitted: readonly number[]): void {
    const early = batch.early
    if (!early) return
    batch.early = undefined
    const head: CommittedHead = { batch: batch.digest, admitted }
    if (this.#channel.isOpen) this.#channel.sendFrame('committed', head)
    const passed = new Set(admitted.map((position) => batch.ids[position]))
    for (const id of batch.ids) if (!passed.has(id)) this.#open.delete(id)
    // The caller of commit has not finished; what it waits for comes when it has.
    queueMicrotask(() => {
      for (const result of early) this.onResult(result.head, result.raw)
      if (!this.#channel.isOpen) this.#lose(batch.ids.filter((id) => this.#open.has(id)))
    })
  }

  #abort(batch: Batch): void {
    if (!batch.early) return
    batch.early = undefined
    const head: AbortHead = { batch: batch.digest }
    if (this.#channel.isOpen) this.#channel.sendFrame('abort', head)
    for (const id of batch.ids) this.#open.delete(id)
  }

  #lose(ids: readonly IntentId[]): void {
    for (const id of ids) this.#open.delete(id)
    if (ids.length > 0) this.#events.lost(ids)
  }
}
