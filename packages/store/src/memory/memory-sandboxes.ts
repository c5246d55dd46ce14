import type { SandboxWrites, Session, SessionSandbox } from '@sallyport/core'
import type { SandboxEvidence, SessionId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

const living: readonly string[] = ['created', 'verifying', 'open']

export class MemorySandboxes implements SandboxWrites {
  readonly #sandboxes: MemoryRows<SessionSandbox>
  readonly #sessions: MemoryRows<Session>

  constructor(rows: { sandboxes: MemoryRows<SessionSandbox>; sessions: MemoryRows<Session> }) {
    this.#sandboxes = rows.sandboxes
    this.#sessions = rows.sessions
  }

  async get(id: SessionId): Promise<SessionSandbox | undefined> {
    return this.#sandboxes.get(id)
  }

  async living(): Promise<SessionSandbox[]> {
    const all = this.#sandboxes.all().filter(({ sessionId }) => {
      const session = this.#sessions.get(sessionId)
      return session !== undefined && living.includes(session.state)
    })
    return sorted(all, ({ sessionId }) => sessionId)
  }

  async insert(sandbox: SessionSandbox): Promise<void> {
    putNew(this.#sandboxes, sandbox.sessionId, sandbox)
  }

  async see(id: SessionId, seenAt: number): Promise<void> {
    const sandbox = this.#sandboxes.get(id)
    if (sandbox && sandbox.seenAt < seenAt) this.#sandboxes.put({ ...sandbox, seenAt })
  }

  async show(id: SessionId, evidence: SandboxEvidence, provedAt: number | null): Promise<void> {
    const sandbox = this.#sandboxes.get(id)
    if (sandbox) this.#sandboxes.put({ ...sandbox, evidence, provedAt })
  }
}
