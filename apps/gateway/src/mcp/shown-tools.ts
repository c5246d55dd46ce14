/** Which tools the guest of a session was shown by this gateway: what it never asked to see, it cannot be using. */
import type { BoundTool } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'

/** Of sessions; the one that asked the longest time ago is forgotten first. */
const keptSessions = 1_000

export class ShownTools {
  readonly #sessions = new Map<SessionId, Set<string>>()

  note(session: SessionId, tools: readonly BoundTool[]): void {
    const shown = this.#sessions.get(session) ?? new Set()
    for (const { binding } of tools) shown.add(`${binding.connectionName}__${binding.exposedName}`)
    this.#sessions.delete(session)
    this.#sessions.set(session, shown)
    const [oldest] = this.#sessions.keys()
    if (oldest !== undefined && this.#sessions.size > keptSessions) this.#sessions.delete(oldest)
  }

  /** By their names at `/mcp`. Empty for a session that has asked for no list here. */
  of(session: SessionId): ReadonlySet<string> {
    return this.#sessions.get(session) ?? new Set()
  }
}
