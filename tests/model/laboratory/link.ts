/** A gateway's link to the worker, as the gateway's own keeps it, but over the laboratory's wire. */
import type { Order, Recovered, SentBatch, WorkerEvents, WorkerPort } from '@sallyport/core'
import { type IntentId, SallyportError } from '@sallyport/protocol'
import { type JournalSigner, type RecoverHead, signJws } from '@sallyport/protocol/node'
import type { Channel } from '../../../apps/gateway/src/worker/channel.ts'
import { WorkerConnection } from '../../../apps/gateway/src/worker/worker-connection.ts'
import type { HeldTimers } from './held-timers.ts'
import type { Program, Steps } from './steps.ts'
import type { HeldChannel } from './wire.ts'

export interface LinkOptions {
  readonly program: Program
  readonly steps: Steps
  readonly timers: HeldTimers
  readonly signer: JournalSigner
  /** Makes a connection to the worker that runs. */
  readonly dial: () => HeldChannel
}

/** Ids are the same in every schedule, so are most batches. */
const signatures = new Map<string, string>()

export class HeldLink implements WorkerPort {
  readonly #options: LinkOptions
  #events: WorkerEvents | undefined
  #connection: WorkerConnection | undefined

  constructor(options: LinkOptions) {
    this.#options = options
  }

  start(events: WorkerEvents): void {
    this.#events = events
    this.#connect()
  }

  instance(): string | undefined {
    return this.#connection?.hello.instance
  }

  send(orders: readonly Order[]): SentBatch {
    return this.#connected().send(orders)
  }

  settled(ids: readonly IntentId[]): void {
    this.#connection?.settled(ids)
  }

  cancel(id: IntentId): void {
    this.#connection?.cancel(id)
  }

  async recover(intents: RecoverHead['intents']): Promise<Recovered[]> {
    return await this.#connected().recover(intents)
  }

  #connected(): WorkerConnection {
    if (!this.#connection) throw new SallyportError('worker_down')
    return this.#connection
  }

  #connect(): void {
    const { program, steps, timers, dial } = this.#options
    const channel = dial()
    const clock = {
      now: timers.now,
      after: (ms: number, run: () => void) => timers.after(ms, program, 'waits no longer', run),
    }
    const connection = new WorkerConnection(
      channel as unknown as Channel,
      (payload) => this.#sign(payload),
      clock,
      {
        result: (head, raw) => this.#events?.result(head, raw),
        progress: () => {},
        observed: () => {},
        lost: (ids) => this.#events?.lost(ids),
        closed: () => {
          this.#connection = undefined
          const options = [{ name: 'connects again', run: () => this.#connect() }] as const
          steps.hold({ program, options })
        },
      },
    )
    this.#connection = connection
    this.#events?.up(connection.hello.instance)
  }

  #sign(payload: string): string {
    const { kid, privateKey } = this.#options.signer
    const known = signatures.get(payload) ?? signJws(payload, kid, privateKey)
    signatures.set(payload, known)
    return known
  }
}
