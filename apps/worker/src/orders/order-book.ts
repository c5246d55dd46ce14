/**
 * Every order the worker knows, from the batch it came in to the settling of its result. Only here is decided whether
 * an order may act, and what is true about one that somebody asks for.
 */
import type { ErrorCode } from '@sallyport/protocol'
import type {
  AbortHead,
  BodyHead,
  CommittedHead,
  IntentsHead,
  RecoveredHead,
  RecoverHead,
  ResultHead,
  SealBook,
} from '@sallyport/protocol/node'
import type { Clock } from '../clock.ts'
import { bodyProblem } from '../intent/body-problem.ts'
import { carriedSeal, credentialDigestOf, endpointDigestOf } from '../intent/carried-seal.ts'
import { judgeBatch, type Signer } from '../intent/verify-batch.ts'
import { KeptResults } from './kept-results.ts'
import { Ledger } from './ledger.ts'
import { type Luggage, Order, type Recipient } from './order.ts'
import { notSent, type Outcome } from './outcome.ts'
import { PendingBatches } from './pending-batches.ts'
import type { Performance } from './perform.ts'

/** One connection of a gateway. */
export interface OrderSource extends Recipient {
  readonly signer: Signer
  /** By digest. */
  readonly seals: SealBook
}

export interface OrderBookOptions {
  /** Of this process; intents name it. */
  readonly instance: string
  readonly clock: Clock
  readonly perform: (performance: Performance) => Promise<Outcome>
}

/** What a batch holds at a position: an order, or why there is none. */
type Slot = Order | { readonly id: string; readonly refusal: ErrorCode }

const inFlightAtMost = 1_000

export class OrderBook {
  readonly #options: OrderBookOptions
  readonly #ledger: Ledger
  readonly #kept: KeptResults
  readonly #batches = new PendingBatches<OrderSource, Slot>()
  #inFlight = 0
  #whenQuiet: (() => void) | undefined
  #isStopping = false

  constructor(options: OrderBookOptions) {
    this.#options = options
    this.#ledger = new Ledger(options.clock.now())
    this.#kept = new KeptResults(options.clock.monotonic)
  }

  /** The memory of ids reaches back to here, ms since 1970. */
  get memorySince(): number {
    return this.#ledger.since
  }

  /** False when this is no batch, or one that is already there: no gateway of ours sends that. */
  intents(source: OrderSource, head: IntentsHead, raw: Buffer): boolean {
    const { clock, instance } = this.#options
    const now = clock.now()
    const judged = judgeBatch(head, raw, source.signer, instance, now)
    if (!judged || this.#batches.has(source, head.batch)) return false
    const receivedAt = clock.monotonic()
    const slots = judged.intents.map(({ id, intent, refusal }): Slot => {
      if (this.#ledger.has(id)) return { id, refusal: 'intent_refused' }
      if (!intent) {
        // Of a batch that nobody signed nothing is believed, not even that the id was used.
        if (judged.isSigned) this.#ledger.spend(id, now, now, false)
        return { id, refusal: refusal ?? 'intent_refused' }
      }
      const order = new Order(intent, receivedAt, source)
      this.#ledger.add(order)
      return order
    })
    this.#batches.add(source, head.batch, slots)
    return true
  }

  /** A body counts only on the connection its intent came by, once. */
  body(source: OrderSource, head: BodyHead, raw: Buffer): void {
    const order = this.#ledger.find(head.intent)
    // What crossed is kept whatever becomes of this order: the gateway will not send it again.
    const { seals } = source
    const endpoint = carriedSeal(seals, head.endpoint, order && endpointDigestOf(order.intent))
    const named = order && credentialDigestOf(order.intent)
    const credential = carriedSeal(seals, head.credential, named)
    if (order?.phase !== 'held' || order.recipient !== source || order.luggage) return
    order.refusal ??= bodyProblem(order.intent, endpoint, credential, raw)
    order.luggage = { endpoint: endpoint?.seal ?? '', credential: credential?.seal, raw }
    if (order.isCommitted) this.#start(order)
  }

  committed(source: OrderSource, { batch, admitted }: CommittedHead): void {
    const slots = this.#batches.take(source, batch)
    const positions = new Set(admitted)
    slots.forEach((slot, position) => {
      if (!positions.has(position)) this.#fence(slot)
      else if (!(slot instanceof Order)) this.#refuse(source, slot.id, slot.refusal)
      else if (slot.phase === 'held') {
        slot.isCommitted = true
        if (slot.luggage) this.#start(slot)
      }
    })
  }

  aborted(source: OrderSource, { batch }: AbortHead): void {
    for (const slot of this.#batches.take(source, batch)) this.#fence(slot)
  }

  /** Whatever of this connection has not left ends here, committed or not; its ids stay spent. */
  disconnected(source: OrderSource): void {
    this.#batches.forget(source)
    for (const order of this.#ledger.ordersOf(source)) {
      if (order.isUnsent) this.#fence(order)
      order.recipient = undefined
    }
  }

  settled(ids: readonly string[]): void {
    for (const id of ids) {
      const order = this.#ledger.find(id)
      if (order?.phase !== 'ended') continue
      if (order.kept) this.#kept.drop(order.kept)
      this.#ledger.settle(id)
    }
  }

  cancel(id: string): void {
    const order = this.#ledger.find(id)
    if (order?.phase === 'sent') order.cancel?.()
    else if (order?.phase === 'held') order.refusal ??= 'call_cancelled'
    else if (order?.phase === 'starting') this.#end(order, notSent('call_cancelled'))
  }

  /** A fence: what has not left is ended before the answer, and an id not seen yet is spent. */
  recover(source: OrderSource, { intents }: RecoverHead): void {
    for (const question of intents) {
      const answer = this.#answer(source, question)
      const kept = answer.result ? this.#ledger.find(question.id)?.kept : undefined
      source.send('recovered', answer, kept?.raw)
    }
  }

  /** Forgets what may be forgotten. Called every second. */
  sweep(): void {
    this.#kept.sweep()
    this.#ledger.sweep(this.#options.clock.now())
  }

  /** Nothing new acts from now on. Resolves when what is in flight has ended. */
  async stop(): Promise<void> {
    this.#isStopping = true
    if (this.#inFlight > 0) await new Promise<void>((resolve) => (this.#whenQuiet = resolve))
  }

  #fence(slot: Slot): void {
    if (!(slot instanceof Order) || !slot.isUnsent) return
    slot.phase = 'fenced'
    slot.luggage = undefined
    this.#leave(slot)
  }

  #refuse(source: OrderSource, id: string, code: ErrorCode): void {
    source.send('result', { intent: id, ...notSent(code).head })
  }

  #start(order: Order): void {
    const { clock, perform } = this.#options
    const refusal = order.refusal ?? this.#reasonNotToStart()
    if (refusal || !order.luggage) {
      this.#end(order, notSent(refusal ?? 'intent_refused'))
      return
    }
    order.phase = 'starting'
    order.isInFlight = true
    this.#inFlight++
    const cancelTimer = clock.after(order.left(clock), () => {
      if (order.phase === 'starting') this.#end(order, notSent('expired'))
    })
    void perform(this.#performance(order, order.luggage)).then((outcome) => {
      cancelTimer()
      this.#end(order, outcome)
    })
  }

  #reasonNotToStart(): ErrorCode | undefined {
    if (this.#isStopping) return 'shutting_down'
    return this.#inFlight >= inFlightAtMost ? 'worker_busy' : undefined
  }

  #performance(order: Order, luggage: Luggage): Performance {
    return {
      intent: order.intent,
      luggage,
      pass: () => order.pass(this.#options.clock),
      progress: (head) => order.recipient?.send('progress', { intent: order.intent.id, ...head }),
      // Where its result went, or nowhere: it settles nothing, so nobody keeps it or asks for it.
      late: (head) => order.recipient?.send('late', { intent: order.intent.id, ...head }),
      cancellable: (cancel) => {
        order.cancel = cancel
      },
    }
  }

  /** The first end counts: an order that was fenced or told as expired has no other. */
  #end(order: Order, { head, raw }: Outcome): void {
    if (order.phase === 'ended' || order.phase === 'fenced') return
    const { id } = order.intent
    const result: ResultHead = { intent: id, ...head }
    order.phase = 'ended'
    order.result = result
    order.luggage = undefined
    order.cancel = undefined
    if (raw) order.kept = this.#kept.keep(raw)
    order.recipient?.send('result', result, raw)
    this.#leave(order)
  }

  #leave(order: Order): void {
    if (!order.isInFlight) return
    order.isInFlight = false
    if (--this.#inFlight === 0) this.#whenQuiet?.()
  }

  #answer(source: OrderSource, question: RecoverHead['intents'][number]): RecoveredHead {
    const { instance, clock } = this.#options
    const { id, iat, aud } = question
    const answer = (state: RecoveredHead['state'], result?: ResultHead): RecoveredHead => ({
      intent: id,
      instance,
      state,
      ...(result ? { result } : {}),
    })
    const isOurs = aud === instance
    if (!this.#ledger.has(id)) {
      const isProof = isOurs && this.#ledger.reachesBackTo(iat)
      this.#ledger.spend(id, iat, clock.now(), !isProof)
    }
    const order = isOurs ? this.#ledger.find(id) : undefined
    if (!order) return answer(isOurs && this.#ledger.isUnused(id) ? 'never_started' : 'not_known')
    if (order.isUnsent) this.#fence(order)
    if (order.phase === 'fenced') return answer('never_started')
    order.recipient = source
    if (order.phase === 'sent') return answer('running')
    return answer('result', resultOf(order))
  }
}

/** Says so when it had a body that is not kept any more. */
function resultOf({ result, kept }: Order): ResultHead {
  const told = result as ResultHead
  return kept && !kept.raw ? { ...told, withheld: 'dropped' } : told
}
