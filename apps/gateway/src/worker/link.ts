/**
 * The link to one worker: dials it until stopped, says and judges hello, carries orders and results. It never decides
 * and never repeats an order.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import type { Order, Recovered, SentBatch, WorkerEvents, WorkerPort } from '@sallyport/core'
import {
  type ErrorCode,
  type IntentId,
  SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import {
  certificateKid,
  type Hello,
  type RecoverHead,
  type ResultHead,
  signJws,
  type VaultState,
} from '@sallyport/protocol/node'
import type { SignBatch } from './carried-orders.ts'
import { type Channel, type ChannelOptions, openChannel } from './channel.ts'
import type { Identity } from './dial.ts'
import { type DirectAnswer, DirectOrders } from './direct-orders.ts'
import { judgeHello } from './judge-hello.ts'
import type { Log } from './log.ts'
import { WorkerConnection } from './worker-connection.ts'

export interface LinkOptions extends ChannelOptions {
  /** Why a worker that says this is not to be worked with, beside what is wrong with any; undefined: nothing. */
  readonly refuses?: (hello: Hello) => ErrorCode | undefined
  readonly log: Log
}

/** `code`: why there is no connection now; null before the first attempt has ended and while there is one. */
export interface LinkState {
  readonly hello: Hello | null
  readonly code: ErrorCode | null
}

const firstDelayMs = 50
const lastDelayMs = 1_000

export class WorkerLink implements WorkerPort {
  readonly #options: LinkOptions
  readonly #direct: DirectOrders
  #events: WorkerEvents | undefined
  #connection: WorkerConnection | undefined
  #code: ErrorCode | null = null
  #delay = firstDelayMs
  #cancelRedial = (): void => {}
  #isRunning = false
  #waiting: { resolve: (instance: string) => void; reject: (error: SallyportError) => void }[] = []

  constructor(options: LinkOptions) {
    this.#options = options
    this.#direct = new DirectOrders(options.clock)
  }

  /** Begins to dial, and dials again whenever the connection ends. */
  start(events: WorkerEvents): void {
    this.#events = events
    this.#isRunning = true
    void this.#dial()
  }

  /** Ends the connection after what was written. Intents still in flight are told as lost. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelRedial()
    this.#refuseWaiting(new SallyportError('worker_down', { cause: new Error('stopped') }))
    await this.#connection?.close()
  }

  /**
   * Resolves with the instance once a worker is there. Rejects at once with `wrong_release` or `clock_skew`, and with
   * `worker_down` after `ms`.
   */
  whenUp(ms: number): Promise<string> {
    const instance = this.instance()
    if (instance !== undefined) return Promise.resolve(instance)
    return new Promise((resolve, reject) => {
      const waiting = {
        resolve: (up: string) => {
          cancel()
          resolve(up)
        },
        reject: (error: SallyportError) => {
          cancel()
          reject(error)
        },
      }
      const cancel = this.#options.clock.after(ms, () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting)
        reject(new SallyportError('worker_down'))
      })
      this.#waiting.push(waiting)
    })
  }

  state(): LinkState {
    return { hello: this.#connection?.hello ?? null, code: this.#code }
  }

  instance(): string | undefined {
    return this.#connection?.hello.instance
  }

  /** What the worker holds to open seals; undefined while there is none. */
  vault(): VaultState | undefined {
    return this.#connection?.vault
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

  /** Lets the worker drop what it holds of a connection. */
  release(connectionId: string): void {
    this.#connection?.release(connectionId)
  }

  /** Sends one order outside the call path, at once committed. Rejects with `worker_down` when no answer comes. */
  async order(order: Order, ms: number): Promise<DirectAnswer> {
    const answer = await this.orderUnsettled(order, ms)
    this.settled([order.id])
    return answer
  }

  /** As `order`, but the worker keeps what came of it until it is told that it is settled. */
  orderUnsettled(order: Order, ms: number): Promise<DirectAnswer> {
    return this.#direct.order(order, ms, (orders) => this.send(orders))
  }

  #connected(): WorkerConnection {
    if (!this.#connection) throw new SallyportError('worker_down')
    return this.#connection
  }

  async #dial(): Promise<void> {
    try {
      this.#accept(await openChannel(this.#options))
    } catch (thrown) {
      this.#failed(toSallyportError(thrown))
    }
  }

  #accept(channel: Channel): void {
    const { clock, log, refuses } = this.#options
    const { hello } = channel
    const refusal = this.#isRunning
      ? (judgeHello(hello, clock.now()) ?? refuses?.(hello))
      : 'worker_down'
    if (refusal) {
      void channel.close()
      this.#failed(new SallyportError(refusal, { cause: describe(hello) }))
      return
    }
    this.#code = null
    this.#delay = firstDelayMs
    this.#connection = new WorkerConnection(channel, signerOf(channel.identity), clock, {
      result: (head, raw) => this.#onResult(head, raw),
      progress: (head) => this.#events?.progress(head),
      observed: (head) => this.#events?.observed(head),
      late: (head) => this.#events?.late?.(head),
      lost: (ids) => this.#onLost(ids),
      closed: () => this.#onClosed(hello),
    })
    log.info({ worker: hello.instance }, 'worker connected')
    for (const { resolve } of this.#waiting.splice(0)) resolve(hello.instance)
    this.#events?.up(hello.instance)
  }

  #onResult(head: ResultHead, raw: Buffer): void {
    if (!this.#direct.onResult(head, raw)) this.#events?.result(head, raw)
  }

  #onLost(ids: readonly IntentId[]): void {
    const others = this.#direct.onLost(ids)
    if (others.length > 0) this.#events?.lost(others)
  }

  #onClosed(hello: Hello): void {
    this.#connection = undefined
    if (!this.#isRunning) return
    this.#options.log.warn({ worker: hello.instance }, 'worker disconnected')
    this.#code = 'worker_down'
    this.#redial()
  }

  #failed(error: SallyportError): void {
    if (!this.#isRunning) return
    if (error.code !== this.#code) {
      const { code, cause } = error
      this.#options.log.error({ code, cause: String(cause) }, 'worker not connected')
    }
    this.#code = error.code
    if (error.code !== 'worker_down') this.#refuseWaiting(error)
    this.#redial()
  }

  #redial(): void {
    this.#cancelRedial = this.#options.clock.after(this.#delay, () => void this.#dial())
    this.#delay = Math.min(2 * this.#delay, lastDelayMs)
  }

  #refuseWaiting(error: SallyportError): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

function signerOf({ certificatePem, privateKeyPem }: Identity): SignBatch {
  const kid = certificateKid(new X509Certificate(certificatePem).publicKey)
  const key = createPrivateKey(privateKeyPem)
  return (payload) => signJws(payload, kid, key)
}

function describe({ release, build, pid }: Hello): Error {
  return new Error(`worker of release ${release} (${build}), process ${pid}`)
}
