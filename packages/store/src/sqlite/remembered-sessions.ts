import type { Session } from '@sallyport/core'
import { SqlSessionReads } from '../sql/sql-sessions.ts'

const limit = 1000

/**
 * Every request of a guest asks for its session by token. This process is the only one that writes into the file, so
 * what was read stays true until a transaction that wrote a session has ended.
 */
export class RememberedSessions extends SqlSessionReads {
  readonly #byTokenHash = new Map<string, Promise<Session | undefined>>()

  override byTokenHash(hash: string): Promise<Session | undefined> {
    const known = this.#byTokenHash.get(hash)
    if (known !== undefined) return known
    const read = super.byTokenHash(hash)
    if (this.#byTokenHash.size >= limit) this.#byTokenHash.clear()
    this.#byTokenHash.set(hash, read)
    // Neither a failure nor an unknown token is worth remembering.
    read.then(
      (session) => session ?? this.#byTokenHash.delete(hash),
      () => this.#byTokenHash.delete(hash),
    )
    return read
  }

  /** A transaction that wrote a session has ended. */
  forget(): void {
    this.#byTokenHash.clear()
  }
}
