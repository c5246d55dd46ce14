/**
 * Tells open streams that their list of tools changed, whatever changed it and through whichever gateway: it compares
 * what is callable now with what was callable before, for sessions that listen.
 */
import type { Reads, Session, Toolsets } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'

interface Listening {
  /** Sessions with an open stream for changes. */
  watched(): readonly SessionId[]
  toolsChanged(sessions: readonly SessionId[]): void
  sessionsEnded(sessions: readonly SessionId[]): void
}

export class ToolWatch {
  readonly #reads: Reads
  readonly #toolsets: Toolsets
  readonly #endpoint: Listening
  readonly #known = new Map<SessionId, string>()
  #looking: Promise<void> | undefined
  #again = false

  constructor(reads: Reads, toolsets: Toolsets, endpoint: Listening) {
    this.#reads = reads
    this.#toolsets = toolsets
    this.#endpoint = endpoint
  }

  /**
   * Opens a stream of the session such that changes from then on are told on it. Rejects when the store cannot be read;
   * then nothing was opened.
   */
  async begin(session: Session, open: () => void): Promise<void> {
    const now = await this.#callable(session)
    // What a stream that is open already was told last stays what both are compared with.
    if (!this.#known.has(session.id)) this.#known.set(session.id, now)
    open()
  }

  /** Looks now; a look that is asked for during a look is made after it. Failures leave everything as it was. */
  look(): void {
    if (this.#looking !== undefined) {
      this.#again = true
      return
    }
    this.#looking = this.#lookOnce().finally(() => {
      this.#looking = undefined
      if (!this.#again) return
      this.#again = false
      this.look()
    })
  }

  async #lookOnce(): Promise<void> {
    const watched = new Set(this.#endpoint.watched())
    for (const id of this.#known.keys()) if (!watched.has(id)) this.#known.delete(id)
    let isFirst = true
    for (const id of watched) {
      // The embedded database answers without a pause; there may be very many sessions.
      if (!isFirst) await new Promise((resolve) => setImmediate(resolve))
      isFirst = false
      await this.#compare(id).catch(() => {
        // It cannot be read: nothing is known to have changed, and the next look tries again.
      })
    }
  }

  async #compare(id: SessionId): Promise<void> {
    const session = await this.#reads.sessions.get(id)
    if (session?.state !== 'open') {
      this.#endpoint.sessionsEnded([id])
      return
    }
    const now = await this.#callable(session)
    const before = this.#known.get(id)
    this.#known.set(id, now)
    if (before !== undefined && before !== now) this.#endpoint.toolsChanged([id])
  }

  async #callable(session: Session): Promise<string> {
    const tools = await this.#toolsets.callable(session, await this.#toolsets.of(session))
    return tools.map(({ binding }) => binding.id).join(' ')
  }
}
