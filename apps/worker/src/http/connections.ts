/** The connections to one upstream: HTTP/1.1 over the dialer, one request at a time on each, kept for the next. */
import type { Origin } from '@sallyport/protocol'
import Client from 'undici/lib/dispatcher/client.js'
import type { Clock } from '../clock.ts'
import type { Dialer } from '../dialer/dialer.ts'

/** Gets a connection for one request; `done` gives it back, once, when the request has ended. */
export type Use = (connection: Client, done: () => void) => void

export interface ConnectionsOptions {
  readonly origin: Origin
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
    const { origin, dialer } = this.#options
    return new Client(urlOf(origin), {
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: headerBytes,
      // Every request has limits of its own.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, tell) => {
        dialer.connect(origin).then(
          (socket) => tell(null, socket),
          (error) => tell(error, null),
        )
      },
    })
  }

  /** Ends what is in flight; what waits or comes later fails, given a connection that is destroyed. */
  close(): void {
    this.#isClosed = true
    for (const client of this.#open) void client.destroy()
    for (const { maxIdleMs, use } of this.#waiting.splice(0)) this.run(maxIdleMs, use)
  }

  #start(kept: Kept, use: Use): void {
    use(kept.client, () => this.#release(kept))
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

  #release(kept: Kept): void {
    if (this.#isClosed) return
    const now = this.#options.clock.monotonic()
    kept.idleSince = now
    this.#idle.push(kept)
    const oldest = this.#idle[0]
    if (oldest && now - oldest.idleSince > forgetAfterMs) this.#forgetOldest()
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
