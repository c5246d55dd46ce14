/** Listens for gateways: TLS 1.3, both sides with certificates of our own authority, and only the role `gateway`. */
import { chmodSync, rmSync, statSync } from 'node:fs'
import { connect as probe } from 'node:net'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { SallyportError } from '@sallyport/protocol'
import { certificateRole } from '@sallyport/protocol/node'
import type { Place } from '../options.ts'
import { GatewayLink, type LinkOptions } from './gateway-link.ts'
import type { OwnCertificate } from './renewed-certificate.ts'

export interface ListenerOptions extends LinkOptions, OwnCertificate {
  readonly place: Place
  /** Who is in the worker's group may connect to its socket; what they are is shown by their certificate as ever. */
  readonly groupSocket?: boolean | undefined
  readonly authorityPem: string
}

const handshakeMs = 5_000

export class Listener {
  readonly #options: ListenerOptions
  readonly #server: Server
  readonly #links = new Set<GatewayLink>()

  constructor(options: ListenerOptions) {
    this.#options = options
    this.#server = createServer(
      {
        ...contextOf(options),
        requestCert: true,
        rejectUnauthorized: true,
        handshakeTimeout: handshakeMs,
      },
      (socket) => this.#accept(socket),
    )
    // A handshake that fails is the other side's to explain; nothing was said yet.
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
  }

  /** Rejects with `data_in_use` when another worker listens there, `bad_address` when nothing can. */
  async listen(): Promise<void> {
    const { place, groupSocket } = this.#options
    const mode = groupSocket ? 0o660 : 0o600
    if ('path' in place) await removeStale(place.path)
    await new Promise<void>((resolve, reject) => {
      // It stays: an accept that fails later says nothing of what is served already.
      this.#server.on('error', (cause) => reject(new SallyportError('bad_address', { cause })))
      // The socket is made with these rights, not given them when somebody may have connected.
      const mask = process.umask(0o777 & ~mode)
      this.#server.listen(place, resolve)
      process.umask(mask)
    })
    if ('path' in place) chmodSync(place.path, mode)
  }

  /** Shows another certificate from the next connection on; throws for one that is not of its key. */
  renew(own: OwnCertificate): void {
    this.#server.setSecureContext(contextOf({ ...this.#options, ...own }))
  }

  /** Where it listens, for TCP also the port that was free. */
  get address(): string {
    const address = this.#server.address()
    if (address === null || typeof address === 'string') return address ?? ''
    return `${address.address}:${address.port}`
  }

  /** Listens no more and ends every connection after what was written. Resolves when they are closed. */
  close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    for (const link of this.#links) link.close()
    return closed
  }

  broadcast(kind: 'observed' | 'vault', head: object): void {
    for (const link of this.#links) if (link.instance !== undefined) link.send(kind, head)
  }

  #accept(socket: TLSSocket): void {
    socket.on('error', () => socket.destroy())
    const role = certificateRole(socket.getPeerX509Certificate()?.subjectAltName)
    if (!socket.authorized || role !== 'gateway') {
      socket.destroy()
      return
    }
    const link = new GatewayLink(socket, this.#options)
    this.#links.add(link)
    socket.once('close', () => this.#links.delete(link))
  }
}

function contextOf(options: OwnCertificate & Pick<ListenerOptions, 'authorityPem'>) {
  const { certificatePem: cert, privateKeyPem: key, authorityPem: ca } = options
  return { cert, key, ca, minVersion: 'TLSv1.3' } as const
}

/** Unlinks a socket nobody answers at. One that somebody does answer at is another worker's. */
async function removeStale(path: string): Promise<void> {
  if (!statSync(path, { throwIfNoEntry: false })) return
  if (await isAnswered(path)) throw new SallyportError('data_in_use')
  rmSync(path)
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = probe(path)
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => end(true)).once('error', () => end(false))
  })
}
