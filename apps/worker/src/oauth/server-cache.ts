/**
 * What authorization servers publish about themselves, by issuer, as far as it was read lately. In memory only: what the
 * database says must never lead a secret anywhere.
 */
import type { Clock } from '../clock.ts'
import type { AuthorizationServer } from './find-server.ts'

interface Reading {
  readonly server: AuthorizationServer
  readonly readAt: number
}

interface Entry {
  readonly reading: Reading | undefined
  /** When it could not be read, since then. A miss makes a reading neither younger nor older. */
  readonly missedAt: number | undefined
}

const atMost = 256

export class ServerCache {
  readonly #clock: Pick<Clock, 'monotonic'>
  /** The one that was read or missed longest ago comes first. */
  readonly #entries = new Map<string, Entry>()

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock
  }

  /** Undefined where nothing was read within so many milliseconds. `place`: the issuer, and what may be believed of it. */
  get(place: string, withinMs: number): AuthorizationServer | undefined {
    const reading = this.#entries.get(place)?.reading
    return reading && this.#isWithin(reading.readAt, withinMs) ? reading.server : undefined
  }

  put(place: string, server: AuthorizationServer): void {
    const reading = { server, readAt: this.#clock.monotonic() }
    this.#keep(place, { reading, missedAt: undefined })
  }

  /** It could not be read now; what was read before, or meanwhile, stays what it is. */
  miss(place: string): void {
    const reading = this.#entries.get(place)?.reading
    this.#keep(place, { reading, missedAt: this.#clock.monotonic() })
  }

  /** Within so many milliseconds, and it was not read since. */
  hasMissed(place: string, withinMs: number): boolean {
    const missedAt = this.#entries.get(place)?.missedAt
    return missedAt !== undefined && this.#isWithin(missedAt, withinMs)
  }

  forget(place: string): void {
    this.#entries.delete(place)
  }

  #isWithin(at: number, ms: number): boolean {
    return this.#clock.monotonic() - at < ms
  }

  #keep(place: string, entry: Entry): void {
    this.#entries.delete(place)
    this.#entries.set(place, entry)
    const [oldest] = this.#entries.keys()
    if (this.#entries.size > atMost && oldest !== undefined) this.#entries.delete(oldest)
  }
}
