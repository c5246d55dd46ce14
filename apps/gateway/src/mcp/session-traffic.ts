/** What one session uses of this gateway right now, and how much it may use. Kept in memory only: a restart forgets it. */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { SessionId } from '@sallyport/protocol'
import { CancelBook } from './cancel-book.ts'
import type { ChangeStream } from './change-stream.ts'
import type { ByteBudget } from './read-body.ts'

export interface GuestLimits {
  readonly bodyLimitBytes: number
  readonly maxCallsPerSession: number
  readonly requestsPerMinute: number
}

const spareConnections = 64
const streamLimit = 32
const bodiesAtOnce = 8
const knownIdLimit = 256

export class SessionTraffic {
  readonly cancels: CancelBook
  readonly streams = new Set<ChangeStream>()
  readonly #limits: () => GuestLimits
  readonly #now: () => number
  readonly #sockets = new Set<Socket>()
  readonly #knownIds = new Map<string, 'verified' | 'ended'>()
  #calls = 0
  #bodyBytes = 0
  #tokens: number
  #refilledAt: number

  constructor(limits: () => GuestLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
    this.cancels = new CancelBook(now)
    this.#tokens = limits().requestsPerMinute
    this.#refilledAt = now()
  }

  /** Counts one request. Zero when it may go on, else the seconds until one may. */
  request(): number {
    const perMinute = this.#limits().requestsPerMinute
    const now = this.#now()
    const refill = (Math.max(0, now - this.#refilledAt) / 60_000) * perMinute
    this.#refilledAt = now
    this.#tokens = Math.min(perMinute, this.#tokens + refill)
    if (this.#tokens < 1) return Math.max(1, Math.ceil(((1 - this.#tokens) / perMinute) * 60))
    this.#tokens--
    return 0
  }

  /** False when the session holds too many connections for one more. */
  connect(socket: Socket): boolean {
    if (this.#sockets.has(socket)) return true
    if (this.#sockets.size >= this.#limits().maxCallsPerSession + spareConnections) return false
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    return true
  }

  /** False when as many calls are in flight as may be. Else each needs one `endCall`. */
  beginCall(): boolean {
    if (this.#calls >= this.#limits().maxCallsPerSession) return false
    this.#calls++
    return true
  }

  endCall(): void {
    this.#calls--
  }

  /** Bodies that are arriving or being served: a few of the largest, or many small ones. */
  readonly bodies: ByteBudget = {
    take: (bytes) => {
      if (this.#bodyBytes + bytes > bodiesAtOnce * this.#limits().bodyLimitBytes) return false
      this.#bodyBytes += bytes
      return true
    },
    give: (bytes) => {
      this.#bodyBytes -= bytes
    },
  }

  /** False when the session has as many streams open as it may. */
  get hasRoom(): boolean {
    return this.streams.size < streamLimit
  }

  keep(stream: ChangeStream, res: ServerResponse): void {
    this.streams.add(stream)
    res.once('close', () => this.streams.delete(stream))
  }

  /** A notification goes to one stream of an MCP session: its newest. */
  endStreamOf(mcpSession: string): void {
    for (const stream of this.streams) if (stream.mcpSession === mcpSession) stream.end()
  }

  /** `verify` is asked once for each id, as long as it is remembered. */
  isLiveId(id: string, verify: () => boolean): boolean {
    const known = this.#knownIds.get(id)
    if (known !== undefined) return known === 'verified'
    if (!verify()) return false
    this.#know(id, 'verified')
    return true
  }

  /** Best effort: another gateway, or this one later, knows nothing of it. */
  endId(id: string): void {
    this.#know(id, 'ended')
    this.endStreamOf(id)
  }

  get isIdle(): boolean {
    const isQuiet = this.#now() - this.#refilledAt > 5 * 60_000
    return isQuiet && this.#calls === 0 && this.#sockets.size === 0 && this.streams.size === 0
  }

  #know(id: string, as: 'verified' | 'ended'): void {
    this.#knownIds.delete(id)
    this.#knownIds.set(id, as)
    for (const oldest of this.#knownIds.keys()) {
      if (this.#knownIds.size <= knownIdLimit) return
      this.#knownIds.delete(oldest)
    }
  }
}

/** The traffic of every session that was seen lately. */
export class Traffics {
  readonly #limits: () => GuestLimits
  readonly #now: () => number
  readonly #bySession = new Map<SessionId, SessionTraffic>()

  constructor(limits: () => GuestLimits, now: () => number) {
    this.#limits = limits
    this.#now = now
  }

  of(session: SessionId): SessionTraffic {
    const known = this.#bySession.get(session)
    if (known) return known
    const traffic = new SessionTraffic(this.#limits, this.#now)
    this.#bySession.set(session, traffic)
    return traffic
  }

  /** Forgets sessions that use nothing. */
  sweep(): void {
    for (const [session, traffic] of this.#bySession)
      if (traffic.isIdle) this.#bySession.delete(session)
  }

  /** Sessions with an open stream. */
  streaming(): SessionId[] {
    return [...this.#bySession].flatMap(([id, traffic]) => (traffic.streams.size > 0 ? [id] : []))
  }

  streams(sessions: readonly SessionId[] | 'all'): ChangeStream[] {
    const traffics =
      sessions === 'all'
        ? [...this.#bySession.values()]
        : sessions.flatMap((id) => this.#bySession.get(id) ?? [])
    return traffics.flatMap((traffic) => [...traffic.streams])
  }
}
