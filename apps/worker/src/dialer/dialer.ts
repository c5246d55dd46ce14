/**
 * Opens connections to what is outside, and nothing else does: one resolution, every address of it judged, and the
 * judged address dialled, so that a name cannot point elsewhere in between.
 */
import { isIP, type Socket } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import type { Clock } from '../clock.ts'
import type { Destination } from './destination.ts'
import { EgressPolicy } from './egress-policy.ts'
import type { EgressProxy } from './egress-proxy.ts'
import { establish, type Way } from './establish.ts'
import { failureCode } from './failure-code.ts'
import { Judge, type OwnListeners } from './judge.ts'
import { NameResolver } from './name-resolver.ts'
import { Questions, type Resolve } from './questions.ts'
import { Trust } from './trust.ts'

export interface DialerOptions {
  readonly localAllowed: boolean
  /** Authorities beside the ones Node trusts, PEM. */
  readonly authorities?: readonly string[] | undefined
  readonly policy?: EgressPolicy | undefined
  readonly proxy?: EgressProxy | undefined
  readonly resolve?: Resolve
  readonly ownListeners: OwnListeners
  readonly clock: Clock
  /** Of everything that goes out at once; each upstream has a smaller bound of its own. */
  readonly mostSockets?: number
}

type Route = Pick<Way, 'address' | 'port' | 'tunnel'>

const resolveMs = 5_000
/** Where a proxy resolves, a name need not be known here, and servers that never answer are part of every day. */
const resolveBehindProxyMs = 2_000
/** One address, until TLS stands; and all of them together. */
const connectMs = 5_000
const totalConnectMs = 10_000
/** A name with more addresses does not get more patience. */
const attempts = 3

export class Dialer {
  readonly #options: DialerOptions
  readonly #judge: Judge
  readonly #trust: Trust
  readonly #questions: Questions
  #sockets = 0

  /** Throws `bad_certificate` for authorities that cannot be read. */
  constructor(options: DialerOptions) {
    const { clock, localAllowed, ownListeners } = options
    const names = new NameResolver({ clock })
    this.#options = options
    this.#judge = new Judge({
      localAllowed,
      ownListeners,
      policy: options.policy ?? new EgressPolicy(),
    })
    this.#trust = new Trust(options.authorities)
    this.#questions = new Questions(options.resolve ?? names.resolve.bind(names), clock)
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** May plain http toward this machine pass? */
  get localAllowed(): boolean {
    return this.#options.localAllowed
  }

  /** Rejects with an `upstream_*` code or `worker_busy`; then nothing was sent but a handshake. */
  async connect(destination: Destination): Promise<Socket> {
    const host = this.#judge.admit(destination)
    const routes = await this.#routes(destination, host)
    const { clock } = this.#options
    const end = clock.monotonic() + totalConnectMs
    let failure = new SallyportError('upstream_timeout')
    for (const route of routes.slice(0, attempts)) {
      const ms = Math.min(connectMs, end - clock.monotonic())
      if (ms <= 0) break
      try {
        return await this.#establish(destination, host, route, ms)
      } catch (thrown) {
        failure = new SallyportError(failureCode(thrown), { cause: thrown })
        if (failure.code === 'upstream_tls' || failure.code === 'upstream_blocked_address') break
      }
    }
    throw failure
  }

  /** Only the far is behind a proxy: what is near is near to us, not to it. */
  async #routes(destination: Destination, host: string): Promise<readonly Route[]> {
    const { proxy } = this.#options
    const { port } = destination
    const addresses = await this.#addressesOf(host)
    const near: string[] = []
    const far: string[] = []
    for (const address of addresses) {
      const isNear = this.#judge.address(destination, host, address) === 'near'
      if (isNear) near.push(address)
      else far.push(address)
    }
    const direct = (proxy ? near : addresses).map((address) => ({ address, port }))
    if (!proxy || (far.length === 0 && near.length > 0)) return direct
    const isByName = proxy.resolves && !isIP(host)
    if (isByName) this.#judge.unseen(destination, host, far.length > 0)
    const address = await this.#addressOf(proxy)
    const tunnels = (isByName ? [host] : far).map((target) => tunnelTo(target, port))
    return [...direct, ...tunnels.map((tunnel) => ({ address, port: proxy.port, tunnel }))]
  }

  /** None only for a name that a proxy may know. */
  async #addressesOf(host: string): Promise<readonly string[]> {
    if (isIP(host)) return [host]
    if (this.#options.proxy?.resolves !== true) return await this.#questions.ask(host, resolveMs)
    return await this.#questions.ask(host, resolveBehindProxyMs).catch(() => [])
  }

  /** The operator's word is enough: a proxy stands in a private network as a rule. */
  async #addressOf({ host }: EgressProxy): Promise<string> {
    if (isIP(host)) return host
    try {
      const [address = ''] = await this.#questions.ask(host, resolveMs)
      return address
    } catch (cause) {
      throw new SallyportError('upstream_unreachable', { cause })
    }
  }

  async #establish(
    destination: Destination,
    host: string,
    route: Route,
    ms: number,
  ): Promise<Socket> {
    if (this.#sockets >= (this.#options.mostSockets ?? 4_096))
      throw new SallyportError('worker_busy')
    const secureContext = this.#trust.contextFor(destination)
    const name = destination.scheme === 'https' ? { name: host } : {}
    this.#sockets++
    try {
      const socket = await establish({ ...route, ...name, secureContext }, this.clock, ms)
      socket.once('close', () => this.#sockets--)
      return socket
    } catch (thrown) {
      this.#sockets--
      throw thrown
    }
  }
}

function tunnelTo(target: string, port: number): string {
  return `${isIP(target) === 6 ? `[${target}]` : target}:${port}`
}
