/** What was opened lately: at most 256 seals, each for a minute after its last use. An opening costs more than the rest of a call. */
import { SallyportError } from '@sallyport/protocol'
import { placeProblem, type SealPlace } from '@sallyport/protocol/node'

interface Remembered<T> {
  readonly connectionId: string
  readonly place: SealPlace
  readonly opened: T
  usedAt: number
}

const rememberMs = 60_000
const rememberAtMost = 256

export class OpenedSeals<T> {
  readonly #monotonic: () => number
  /** By digest of the ciphertext, oldest use first. */
  readonly #remembered = new Map<string, Remembered<T>>()

  /** Milliseconds on a clock that never steps. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic
  }

  get size(): number {
    return this.#remembered.size
  }

  /** What is remembered of a ciphertext counts only for the place it was opened for: throws as `openSeal` for another. */
  recall<O extends T>(connectionId: string, digest: string, place: SealPlace, open: () => O): O {
    const known = this.#remembered.get(digest)
    if (known) {
      const problem = placeProblem(known.place, place)
      if (problem) throw new SallyportError(problem)
      this.#used(digest, known)
      return known.opened as O
    }
    const opened = open()
    this.#forgetOlder(connectionId, place)
    this.#remembered.set(digest, { connectionId, place, opened, usedAt: this.#monotonic() })
    return opened
  }

  /** Forgets what was opened of a connection. */
  release(connectionId: string): void {
    for (const [digest, entry] of this.#remembered)
      if (entry.connectionId === connectionId) this.#remembered.delete(digest)
  }

  clear(): void {
    this.#remembered.clear()
  }

  /** Forgets what was not used for a minute. Called every few seconds. */
  sweep(): void {
    const oldest = this.#monotonic() - rememberMs
    for (const [digest, { usedAt }] of this.#remembered) {
      if (usedAt > oldest) return
      this.#remembered.delete(digest)
    }
  }

  /** To a second: moving it for every call would cost more than looking it up. */
  #used(digest: string, entry: Remembered<T>): void {
    const now = this.#monotonic()
    if (now - entry.usedAt < 1_000) return
    entry.usedAt = now
    this.#remembered.delete(digest)
    this.#remembered.set(digest, entry)
  }

  /** A newer seal of the same row replaces the older one; beyond the limit the longest unused goes. */
  #forgetOlder(connectionId: string, { kind, id }: SealPlace): void {
    for (const [digest, entry] of this.#remembered) {
      const isSameRow = entry.place.kind === kind && entry.place.id === id
      if (isSameRow && entry.connectionId === connectionId) this.#remembered.delete(digest)
    }
    const [longestUnused] = this.#remembered.keys()
    if (longestUnused !== undefined && this.#remembered.size >= rememberAtMost)
      this.#remembered.delete(longestUnused)
  }
}
