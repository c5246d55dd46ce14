/** The worker's real order book over the laboratory's wire, before an upstream that counts. */
import {
  type AbortHead,
  type BodyHead,
  type CancelHead,
  type CommittedHead,
  digestBytes,
  encodeFrame,
  type Frame,
  type FrameKind,
  type Hello,
  type Intent,
  type IntentsHead,
  type RecoverHead,
  SealBook,
  type SettledHead,
} from '@sallyport/protocol/node'
import { OrderBook, type OrderSource } from '../../../apps/worker/src/orders/order-book.ts'
import { notSent, type Outcome } from '../../../apps/worker/src/orders/outcome.ts'
import type { Performance } from '../../../apps/worker/src/orders/perform.ts'
import type { HeldTimers } from './held-timers.ts'
import type { Program, Steps } from './steps.ts'
import type { Wire } from './wire.ts'

type Signer = OrderSource['signer']
export type Orders = Pick<
  OrderBook,
  'intents' | 'body' | 'committed' | 'aborted' | 'settled' | 'recover' | 'cancel' | 'disconnected'
>

/** What a sabotage changes of a worker. */
export interface WorkerParts {
  readonly orders: (orders: OrderBook, worker: Worker) => Orders
  readonly now: (now: () => number) => () => number
  /** How often a request is written when its connection ends without an answer. */
  readonly attempts: number
}

export const soundWorker: WorkerParts = {
  orders: (orders) => orders,
  now: (now) => now,
  attempts: 1,
}

export interface WorkerOptions {
  readonly program: Program
  readonly instance: string
  readonly steps: Steps
  readonly timers: HeldTimers
  readonly signer: Signer
  /** The first byte of a request is about to leave; the answer says whether it does. */
  readonly firstByte: (intent: Intent, pass: () => string | undefined) => Promise<boolean>
  readonly parts: WorkerParts
}

const answer = Buffer.from('{"content":[]}')
const answered: Outcome = {
  head: { verdict: 'result', digest: digestBytes(answer), bytes: answer.length },
  raw: answer,
}
const cutOff: Outcome = { head: { verdict: 'uncertain', code: 'upstream_timeout' } }

export class Worker {
  readonly program: Program
  readonly instance: string
  readonly hello: Hello
  /** Intents whose first byte has left. */
  readonly sent = new Set<string>()
  readonly #options: WorkerOptions
  readonly #orders: Orders

  constructor(options: WorkerOptions) {
    const { instance, timers } = options
    this.program = options.program
    this.instance = instance
    this.hello = { instance } as Hello
    this.#options = options
    const clock = {
      now: options.parts.now(timers.now),
      monotonic: timers.now,
      after: (ms: number, run: () => void) =>
        timers.after(ms, this.program, 'finds an order too late', run),
    }
    const perform = (performance: Performance): Promise<Outcome> => this.#perform(performance)
    this.#orders = options.parts.orders(new OrderBook({ instance, clock, perform }), this)
  }

  /** One connection of a gateway, of which `down` is the way back. */
  source(down: Wire): OrderSource {
    const { signer } = this.#options
    const send = (kind: FrameKind, head: object, raw?: Buffer): void =>
      down.write(raw ? encodeFrame(kind, head, raw) : encodeFrame(kind, head))
    return { signer, seals: new SealBook(), send }
  }

  frame(source: OrderSource, { kind, head, raw }: Frame): void {
    const orders = this.#orders
    switch (kind) {
      case 'intents':
        if (!orders.intents(source, head as IntentsHead, raw))
          throw new TypeError('a batch that no gateway sends')
        break
      case 'body':
        orders.body(source, head as BodyHead, raw)
        break
      case 'committed':
        orders.committed(source, head as CommittedHead)
        break
      case 'abort':
        orders.aborted(source, head as AbortHead)
        break
      case 'settled':
        orders.settled((head as SettledHead).intents)
        break
      case 'recover':
        orders.recover(source, head as RecoverHead)
        break
      case 'cancel':
        orders.cancel((head as CancelHead).intent)
        break
      default:
        throw new TypeError(`a frame that no gateway sends: ${kind}`)
    }
  }

  disconnected(source: OrderSource): void {
    this.#orders.disconnected(source)
  }

  async #perform({ intent, pass }: Performance): Promise<Outcome> {
    const { steps, firstByte, parts } = this.#options
    if (!('limits' in intent)) return notSent('intent_refused')
    const way = ['comes to its first byte', 'finds that it cannot send'] as const
    if ((await steps.choose(this.program, way)) !== way[0]) return notSent('upstream_unreachable')
    if (!(await firstByte(intent, pass))) return notSent('expired')
    this.sent.add(intent.id)
    for (let attempt = 1; attempt < parts.attempts; attempt++) {
      if ((await this.#answer(intent)) === answered) return answered
      await firstByte(intent, () => undefined)
    }
    return this.#answer(intent)
  }

  async #answer({ limits }: Intent): Promise<Outcome> {
    const { steps, timers } = this.#options
    const late = new Promise<'late'>((resolve) => {
      timers.after(limits.callMs, this.program, 'waits no longer for the upstream', () =>
        resolve('late'),
      )
    })
    const ends = ['gets an answer from the upstream', 'is cut off by the upstream'] as const
    const end = await Promise.race([steps.choose(this.program, ends), late])
    return end === ends[0] ? answered : cutOff
  }
}
