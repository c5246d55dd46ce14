/** The connections to one upstream: HTTP/1.1 over the dialer, one request at a time on each, kept for the next. */
import type { Origin } from '@sallyport/protocol'
import Client from 'undici/lib/dispatcher/client.js'
import type { Clock } from '../clock.ts'
import type { Dialer } from '../dialer/dialer.ts'

/**
 * Gets a connection for one request; `done` gives it back, once, when the request has ended. `aside`: it lasts longer
 * than requests may; another takes its place, and it is not used again.
 */
export type Use = (connection: Client, done: () => void, aside: () => void) => void

export interface ConnectionsOptions {
  readonly origin: Origin
  /** On whose behalf, as the dialer knows it. */
  readonly subject?: string | undefined
  readonly dialer: Pick<Dialer, 'connect'>
  readonly clock: Pick<Clock, 'monotonic'>
}

interface Kept {
  readonly client: Client
  idleSince: number
}

interface Waiting {
  readonly maxIdleMs: number
  readonly use: Use
}

const atMost = 128
const forgetAfterMs = 30_000
const headerBytes = 16_384

export class Connections {
  readonly #options: ConnectionsOptions
  /** Longest idle first. */
  readonly #idle: Kept[] = []
  readonly #waiting: Waiting[] = []
  readonly #open = new Set<Client>()
  readonly #aside = new Set<Client>()
  #isClosed = false

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  /** On a connection that was not idle for longer than `maxIdleMs`, else a fresh one; waits when all are taken. */
  run(maxIdleMs: number, use: Use): void {
    const kept = this.#isClosed ? this.#fresh() : this.#take(maxIdleMs)
    if (kept) this.#start(kept, use)
    else this.#waiting.push({ maxIdleMs, use })
  }

  /** A connection of its own, for a stream that lasts; whoever asks destroys it. */
  single(): Client {
    const { origin, subject, dialer } = this.#options
    const { scheme, host, port } = origin
    return new Client(urlOf(origin), {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: headerBytes,
      // Every request has limits of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, tell) => {
        dialer.connect({ scheme, host, port, subject }).then(
          (socket) => tell(null, socket),
          (error) => tell(error, null),
        )
      },
    })
  }

  /** Ends what is in flight; what waits or comes later fails, given a connection that is destroyed. */
  close(): void {
    this.#isClosed = true
    for (const client of [...this.#open, ...this.#aside]) void client.destroy()
    for (const { maxIdleMs, use } of this.#waiting.splice(0)) this.run(maxIdleMs, use)
  }

  #start(kept: Kept, use: Use): void {
    use(
      kept.client,
      () => this.#release(kept),
      () => this.#setAside(kept),
    )
  }

  #take(maxIdleMs: number): Kept | undefined {
    const newest = this.#idle.at(-1)
    if (newest && this.#options.clock.monotonic() - newest.idleSince <= maxIdleMs) {
      this.#idle.pop()
      return newest
    }
    if (this.#open.size >= atMost && !this.#forgetOldest()) return undefined
    return this.#fresh()
  }

  #fresh(): Kept {
    const client = this.single()
    if (this.#isClosed) void client.destroy()
    else this.#open.add(client)
    return { client, idleSince: 0 }
  }

  #setAside({ client }: Kept): void {
    if (!this.#open.delete(client)) return
    this.#aside.add(client)
    this.#serveNext()
  }

  #release(kept: Kept): void {
    if (this.#aside.delete(kept.client)) void kept.client.destroy()
    else this.#keep(kept)
  }

  #keep(kept: Kept): void {
    if (this.#isClosed) return
    const now = this.#options.clock.monotonic()
    kept.idleSince = now
    this.#idle.push(kept)
    const oldest = this.#idle[0]
    if (oldest && now - oldest.idleSince > forgetAfterMs) this.#forgetOldest()
    this.#serveNext()
  }

  #serveNext(): void {
    const next = this.#waiting.shift()
    if (next) this.run(next.maxIdleMs, next.use)
  }

  #forgetOldest(): boolean {
    const oldest = this.#idle.shift()
    if (!oldest) return false
    this.#open.delete(oldest.client)
    void oldest.client.destroy()
    return true
  }
}

function urlOf({ scheme, host, port }: Origin): string {
  return `${scheme}://${host}:${port}`
}
