/**
 * Opens connections to upstreams, and to nothing else: one resolution, every address of it judged, and the judged
 * address dialled, so that a name cannot point elsewhere in between. Proxies of the environment are not known here.
 */
import { lookup } from 'node:dns/promises'
import { isIP, connect as netConnect, type Socket } from 'node:net'
import {
  createSecureContext,
  getCACertificates,
  type SecureContext,
  connect as tlsConnect,
} from 'node:tls'
import { type Origin, SallyportError } from '@sallyport/protocol'
import type { Clock } from '../clock.ts'
import { isLoopbackAddress, isPublicAddress, isSameAddress } from './address.ts'
import { failureCode } from './failure-code.ts'

/** Every address of a name. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly string[]>

export interface DialerOptions {
  readonly localAllowed: boolean
  /** Authorities beside the ones Node trusts, PEM. */
  readonly authorities?: readonly string[]
  readonly resolve?: Resolve
  readonly ownListeners: OwnListeners
  readonly clock: Clock
}

/** By gateway: where it listens itself. */
export type OwnListeners = ReadonlyMap<
  string,
  readonly { readonly host: string; readonly port: number }[]
>

const resolveMs = 5_000
const connectMs = 5_000
/** A name with more addresses does not get more patience. */
const attempts = 3

export class Dialer {
  readonly #options: DialerOptions
  readonly #secureContext: SecureContext
  /** By name, while they are on their way. */
  readonly #questions = new Map<string, Promise<readonly string[]>>()

  constructor(options: DialerOptions) {
    this.#options = options
    this.#secureContext = createSecureContext({
      minVersion: 'TLSv1.2',
      ...(options.authorities
        ? { ca: [...getCACertificates('default'), ...options.authorities] }
        : {}),
    })
  }

  /** Rejects with an `upstream_*` code; then nothing was sent but a handshake. */
  async connect(origin: Origin): Promise<Socket> {
    const host = origin.host.replace(/^\[|\]$/g, '')
    const addresses = await this.#resolve(host)
    const judged = addresses.every((address) => this.#isAllowed(origin, address))
    if (!judged) throw new SallyportError('upstream_blocked_address')
    let failure = new SallyportError('upstream_dns')
    for (const address of addresses.slice(0, attempts)) {
      try {
        return await this.#dial(origin, host, address)
      } catch (thrown) {
        failure = new SallyportError(failureCode(thrown), { cause: thrown })
        if (failure.code === 'upstream_tls' || failure.code === 'upstream_blocked_address') break
      }
    }
    throw failure
  }

  async #resolve(host: string): Promise<readonly string[]> {
    if (isIP(host)) return [host]
    if (host === 'localhost') return ['127.0.0.1', '::1']
    return new Promise((settle, reject) => {
      const fail = (cause: unknown) => reject(new SallyportError('upstream_dns', { cause }))
      const cancel = this.#options.clock.after(resolveMs, () =>
        fail(new Error('no answer in time')),
      )
      this.#ask(host).then(settle, fail).finally(cancel)
    })
  }

  /**
   * Asked once at a time: the system answers few questions at once, each until it gives up, and a name that is never
   * answered must not take all of its patience for other names.
   */
  #ask(host: string): Promise<readonly string[]> {
    const { resolve = systemResolve } = this.#options
    let question = this.#questions.get(host)
    if (!question) {
      question = resolve(host).finally(() => this.#questions.delete(host))
      this.#questions.set(host, question)
    }
    return question
  }

  #isAllowed({ scheme, port }: Origin, address: string): boolean {
    if (this.#isOwnListener(address, port)) return false
    if (isLoopbackAddress(address)) return this.#options.localAllowed
    return scheme === 'https' && isPublicAddress(address)
  }

  /** A listener on every address is also on each one of this machine. */
  #isOwnListener(address: string, port: number): boolean {
    const listeners = [...this.#options.ownListeners.values()].flat()
    return listeners.some(
      (one) =>
        one.port === port && (isLoopbackAddress(address) || isSameAddress(one.host, address)),
    )
  }

  async #dial(origin: Origin, host: string, address: string): Promise<Socket> {
    const socket = this.#open(origin, host, address)
    const isTls = origin.scheme === 'https'
    try {
      await this.#established(socket, isTls)
      if (!isSameAddress(socket.remoteAddress ?? '', address))
        throw new SallyportError('upstream_blocked_address')
    } catch (thrown) {
      socket.destroy()
      throw thrown
    }
    return socket.setNoDelay(true)
  }

  #open({ scheme, port }: Origin, host: string, address: string): Socket {
    if (scheme === 'http') return netConnect({ host: address, port })
    return tlsConnect({
      host: address,
      port,
      // An address is no server name (RFC 6066); the certificate must then hold the address itself.
      servername: isIP(host) ? '' : host,
      ALPNProtocols: ['http/1.1'],
      // Said although it is the default: the environment could turn that off.
      rejectUnauthorized: true,
      secureContext: this.#secureContext,
    })
  }

  #established(socket: Socket, isTls: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown) => {
        cancel()
        reject(cause)
      }
      const cancel = this.#options.clock.after(connectMs, () =>
        fail(new SallyportError('upstream_timeout')),
      )
      let isReached = false
      socket.once('connect', () => {
        isReached = true
      })
      // Stays on after the failure: what a destroyed socket says later must not end the process.
      socket.on('error', (cause: NodeJS.ErrnoException) => {
        const isHandshake = isTls && isReached && cause.code !== 'ECONNRESET'
        fail(isHandshake ? new SallyportError('upstream_tls', { cause }) : cause)
      })
      socket.once(isTls ? 'secureConnect' : 'connect', () => {
        cancel()
        resolve()
      })
    })
  }
}

async function systemResolve(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true, order: 'verbatim' })
  return found.map(({ address }) => address)
}
