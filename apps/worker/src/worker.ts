/** The parts of a worker, put together: what comes over a link becomes orders, what becomes of orders goes back. */

import { randomBytes } from 'node:crypto'
import { idSource, release } from '@sallyport/protocol'
import {
  type AbortHead,
  type BodyHead,
  type CancelHead,
  type CommittedHead,
  type Frame,
  type Hello,
  type IntentsHead,
  isHeadOf,
  type RecoverHead,
  type ReleaseHead,
  readProcessWalls,
  type SettledHead,
  wireVersion,
} from '@sallyport/protocol/node'
import { systemClock } from './clock.ts'
import { coreDumps } from './core-dumps.ts'
import type { EgressPolicy } from './dialer/egress-policy.ts'
import type { EgressProxy } from './dialer/egress-proxy.ts'
import type { Engine } from './engine.ts'
import type { GatewayLink, LinkEvents } from './link/gateway-link.ts'
import { Listener } from './link/listener.ts'
import type { OwnCertificate } from './link/renewed-certificate.ts'
import type { Log } from './log.ts'
import type { Place } from './options.ts'
import { OrderBook } from './orders/order-book.ts'
import type { KeyRing } from './vault/key-ring.ts'

export interface WorkerParts extends OwnCertificate {
  readonly place: Place
  readonly groupSocket?: boolean | undefined
  /** Of both ends of the link. */
  readonly authorityPem: string
  readonly ring: KeyRing
  readonly allowLocalUpstreams: boolean
  /** Further authorities that upstreams may be certified by, PEM. */
  readonly upstreamAuthorities?: readonly string[] | undefined
  /** What the operator says about where this may go. */
  readonly egressPolicy?: EgressPolicy | undefined
  readonly egressProxy?: EgressProxy | undefined
  readonly reconnectWindowMs: number
  readonly build: string
  readonly log: Log
  /** No gateway came back within the window. */
  readonly abandoned: () => void
}

const sweepMs = 1_000
/** What is in flight gets as long to end when the worker is told to. */
const endMs = 5_000
const goodbyeMs = 3_000
const closeMs = 1_000

export class Worker implements LinkEvents {
  readonly instance: string
  readonly #parts: WorkerParts
  readonly #clock = systemClock
  readonly #orders: OrderBook
  readonly #listener: Listener
  readonly #links = new Set<GatewayLink>()
  readonly #ownListeners = new Map<string, NonNullable<Hello['ownListeners']>>()
  readonly #sweeping: NodeJS.Timeout
  #cancelWindow: () => void = () => {}
  #isStopping = false
  #loading: Promise<Engine> | undefined

  constructor(parts: WorkerParts) {
    const clock = this.#clock
    this.#parts = parts
    this.instance = idSource(clock.now, randomBytes)('instance')
    this.#orders = new OrderBook({
      instance: this.instance,
      clock,
      perform: async (performance) => (await this.#engine()).perform(performance),
    })
    this.#listener = new Listener({
      ...parts,
      hello: () => this.#hello(),
      now: clock.now,
      events: this,
    })
    parts.ring.onChange(() => this.#listener.broadcast('vault', parts.ring.state))
    this.#sweeping = setInterval(() => this.#sweep(), sweepMs)
  }

  /** Resolves with where it listens. */
  async start(): Promise<string> {
    await this.#listener.listen()
    this.#openWindow()
    return this.#listener.address
  }

  /** Shows another certificate from the next connection on; throws for one that is not of its key. */
  renew(own: OwnCertificate): void {
    this.#listener.renew(own)
  }

  /** Finishes what is in flight, within a bound, ends the sessions of upstreams, and closes the links. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#cancelWindow()
    await this.#atMost(endMs, this.#orders.stop())
    if (this.#loading) await this.#atMost(goodbyeMs, (await this.#loading).close())
    clearInterval(this.#sweeping)
    await this.#atMost(closeMs, this.#listener.close())
  }

  opened(link: GatewayLink, hello: Hello): void {
    this.#cancelWindow()
    this.#links.add(link)
    if (hello.ownListeners) this.#ownListeners.set(hello.instance, hello.ownListeners)
    this.#parts.log.write('gateway_connected', { gateway: hello.instance, pid: hello.pid })
  }

  closed(link: GatewayLink): void {
    this.#links.delete(link)
    const isGone = ![...this.#links].some(({ instance }) => instance === link.instance)
    if (link.instance !== undefined && isGone) this.#ownListeners.delete(link.instance)
    this.#orders.disconnected(link)
    this.#parts.log.write('gateway_disconnected', { gateway: link.instance })
    if (this.#links.size === 0) this.#openWindow()
  }

  frame(link: GatewayLink, frame: Frame): boolean {
    const isTaken = isHeadOf(frame.kind, frame.head) && this.#take(link, frame)
    if (!isTaken) this.#parts.log.write('frame_refused', { kind: frame.kind })
    return isTaken
  }

  #take(link: GatewayLink, { kind, head, raw }: Frame): boolean {
    const orders = this.#orders
    switch (kind) {
      case 'intents':
        return orders.intents(link, head as IntentsHead, raw)
      case 'body':
        orders.body(link, head as BodyHead, raw)
        return true
      case 'committed':
        orders.committed(link, head as CommittedHead)
        return true
      case 'abort':
        orders.aborted(link, head as AbortHead)
        return true
      case 'settled':
        orders.settled((head as SettledHead).intents)
        return true
      case 'recover':
        orders.recover(link, head as RecoverHead)
        return true
      case 'cancel':
        orders.cancel((head as CancelHead).intent)
        return true
      case 'release':
        void this.#loading?.then((engine) => engine.release((head as ReleaseHead).connectionId))
        return true
      default:
        // Kinds that only a worker sends, or that this release does not know the use of.
        return false
    }
  }

  async #engine(): Promise<Engine> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  async #load(): Promise<Engine> {
    const { Engine } = await import('./engine.ts')
    const { ring, allowLocalUpstreams, upstreamAuthorities } = this.#parts
    const { egressPolicy, egressProxy } = this.#parts
    return new Engine({
      ring,
      localAllowed: allowLocalUpstreams,
      authorities: upstreamAuthorities,
      policy: egressPolicy,
      proxy: egressProxy,
      ownListeners: this.#ownListeners,
      clock: this.#clock,
      observed: (head) => this.#listener.broadcast('observed', head),
    })
  }

  #hello(): Hello {
    const { newest, state } = this.#parts.ring
    return {
      wire: wireVersion,
      release,
      build: this.#parts.build,
      role: 'worker',
      instance: this.instance,
      now: this.#clock.now(),
      pid: process.pid,
      memorySince: this.#orders.memorySince,
      vault: { kid: newest.kid, jwk: newest.jwk },
      keys: state,
      coreDumps: coreDumps(),
      walls: readProcessWalls(),
    }
  }

  #sweep(): void {
    this.#orders.sweep()
    this.#parts.ring.sweep()
    void this.#loading?.then((engine) => engine.sweep())
  }

  #openWindow(): void {
    this.#cancelWindow()
    if (this.#isStopping) return
    const { reconnectWindowMs, abandoned } = this.#parts
    this.#cancelWindow = this.#clock.after(reconnectWindowMs, abandoned)
  }

  async #atMost(ms: number, work: Promise<void>): Promise<void> {
    let cancel = (): void => {}
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(ms, resolve)
    })
    await Promise.race([work, late])
    cancel()
  }
}
