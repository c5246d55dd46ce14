/** An accepted connection to a worker: what it carries, what was asked on it, and its frames sorted to who waits. */
import type { Order, Recovered, SentBatch } from '@sallyport/core'
import type { IntentId } from '@sallyport/protocol'
import type {
  CancelHead,
  Frame,
  Hello,
  ObservedHead,
  ProgressHead,
  RecoveredHead,
  RecoverHead,
  ReleaseHead,
  ResultHead,
  VaultState,
} from '@sallyport/protocol/node'
import { type CarriedEvents, CarriedOrders, type SignBatch } from './carried-orders.ts'
import type { Channel } from './channel.ts'
import type { Clock } from './clock.ts'
import { Questions } from './questions.ts'

export interface ConnectionEvents extends CarriedEvents {
  progress(head: ProgressHead): void
  observed(head: ObservedHead): void
  late?(head: ResultHead): void
  /** Before `lost`: who hears of a loss finds no connection that could be asked. */
  closed(): void
}

export class WorkerConnection {
  readonly hello: Hello
  /** What the worker said last of the keys it holds. */
  vault: VaultState | undefined
  readonly #channel: Channel
  readonly #carried: CarriedOrders
  readonly #questions: Questions
  readonly #events: ConnectionEvents

  constructor(channel: Channel, sign: SignBatch, clock: Clock, events: ConnectionEvents) {
    this.hello = channel.hello
    this.vault = channel.hello.keys
    this.#channel = channel
    this.#carried = new CarriedOrders(channel, sign, events)
    this.#questions = new Questions(clock)
    this.#events = events
    channel.listen({
      frame: (frame) => this.#take(frame),
      flushing: () => this.#carried.flushing(),
      closed: () => {
        this.#questions.onClosed()
        events.closed()
        this.#carried.onClosed()
      },
    })
  }

  send(orders: readonly Order[]): SentBatch {
    return this.#carried.send(orders)
  }

  settled(ids: readonly IntentId[]): void {
    this.#carried.settled(ids)
  }

  cancel(id: IntentId): void {
    const head: CancelHead = { intent: id }
    this.#channel.sendFrame('cancel', head)
  }

  release(connectionId: string): void {
    const head: ReleaseHead = { connectionId }
    this.#channel.sendFrame('release', head)
  }

  recover(intents: RecoverHead['intents']): Promise<Recovered[]> {
    if (intents.length === 0) return Promise.resolve([])
    const answers = this.#questions.ask(intents)
    const head: RecoverHead = { intents }
    this.#channel.sendFrame('recover', head)
    return answers
  }

  close(): Promise<void> {
    return this.#channel.close()
  }

  #take({ kind, head, raw }: Frame): void {
    switch (kind) {
      case 'result':
        this.#carried.onResult(head as ResultHead, raw)
        break
      case 'progress':
        this.#events.progress(head as ProgressHead)
        break
      case 'observed':
        this.#events.observed(head as ObservedHead)
        break
      case 'late':
        this.#events.late?.(head as ResultHead)
        break
      case 'vault':
        this.vault = head as VaultState
        break
      case 'recovered':
        this.#questions.onAnswer({ head: head as RecoveredHead, raw })
        break
      default:
        // Kinds that only a gateway sends, or that this release does not use yet.
        break
    }
  }
}
