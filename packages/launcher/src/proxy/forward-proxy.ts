/**
 * The one way out of a guest that has no network, beside its model: CONNECT to hosts that were named, judged as the worker's
 * dialer judges (public addresses only), and never to what is denied, whatever was named.
 */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { SallyportError } from '@sallyport/protocol'
import { addressKind } from '@sallyport/protocol/network'
import type { Admits } from '../outlets/admit-guest.ts'
import type { Denials } from '../outlets/denials.ts'
import { closeListener, listenFor } from '../outlets/listen.ts'
import { type Place, type Reached, type Resolve, reach } from '../outlets/reach.ts'
import { writeRefusal } from '../outlets/refusal.ts'
import { type AllowedHosts, placeIn } from './allowed-hosts.ts'

export interface ForwardProxyOptions {
  readonly socketPath: string
  readonly allowed: AllowedHosts
  readonly denials: Denials
  readonly resolve: Resolve
  readonly admits: Admits
  readonly limits?: Partial<ProxyLimits>
}

export interface ProxyLimits {
  readonly tunnels: number
  /** Without a byte in either direction. */
  readonly idleMs: number
}

const defaultLimits: ProxyLimits = { tunnels: 128, idleMs: 600_000 }

interface Tunnel extends Place {
  readonly address: string
  end(): void
}

export class ForwardProxy {
  readonly #options: ForwardProxyOptions
  readonly #limits: ProxyLimits
  readonly #server: Server
  readonly #tunnels = new Set<Tunnel>()
  #asked = 0

  /** Rejects when there can be no such socket. */
  static async open(options: ForwardProxyOptions): Promise<ForwardProxy> {
    const proxy = new ForwardProxy(options)
    await listenFor(proxy.#server, options)
    return proxy
  }

  private constructor(options: ForwardProxyOptions) {
    this.#options = options
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#server = createServer((_, answer) => {
      answer.writeHead(405, { allow: 'CONNECT', connection: 'close' }).end()
    })
    this.#server.on('connect', (request, guest, head) => void this.#connect(request, guest, head))
  }

  /** Ends what leads to where nobody may go any more. */
  endDenied(): void {
    for (const tunnel of this.#tunnels) if (this.#options.denials.denies(tunnel)) tunnel.end()
  }

  async close(): Promise<void> {
    for (const tunnel of this.#tunnels) tunnel.end()
    await closeListener(this.#server)
  }

  async #connect({ url = '' }: IncomingMessage, guest: Duplex, head: Buffer): Promise<void> {
    // What a guest that has gone is told is lost.
    guest.on('error', () => undefined)
    this.#asked++
    try {
      if (this.#asked > this.#limits.tunnels) throw new SallyportError('too_many')
      const place = placeIn(url)
      if (!place || !this.#options.allowed.allows(place)) throw new SallyportError('host_denied')
      await this.#carry(place, guest, head)
    } catch (thrown) {
      writeRefusal(guest, thrown)
    } finally {
      this.#asked--
    }
  }

  /** Resolves when the tunnel has ended. Rejects as `reach` does. */
  async #carry(place: Place, guest: Duplex, head: Buffer): Promise<void> {
    const { denials, resolve } = this.#options
    await denials.refresh()
    const reached = await reach(
      {
        resolve,
        denies: (one) => denials.denies(one),
        judge: (address) => addressKind(address) === 'public',
      },
      place,
    )
    if (guest.destroyed) return void reached.socket.destroy()
    guest.write('HTTP/1.1 200 Connection established\r\n\r\n')
    if (head.length > 0) reached.socket.write(head)
    await this.#untilEnded(place, guest, reached)
  }

  #untilEnded(place: Place, guest: Duplex, { socket, address }: Reached): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        socket.destroy()
        guest.destroy()
      }
      const tunnel = { ...place, address, end }
      this.#tunnels.add(tunnel)
      socket.setTimeout(this.#limits.idleMs, end)
      guest.on('close', () => socket.destroySoon())
      socket.on('close', () => {
        this.#tunnels.delete(tunnel)
        guest.destroy()
        resolve()
      })
      guest.pipe(socket)
      socket.pipe(guest)
      // A set that came since it was judged did not know of it yet.
      this.endDenied()
    })
  }
}
