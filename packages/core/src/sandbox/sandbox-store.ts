import type { SandboxEvidence, SessionId } from '@sallyport/protocol'
import type { SessionSandbox } from './session-sandbox.ts'

export interface SandboxReads {
  get(id: SessionId): Promise<SessionSandbox | undefined>
  /** Of sessions that are created, verifying or open; by session. */
  living(): Promise<SessionSandbox[]>
}

export interface SandboxWrites extends SandboxReads {
  insert(sandbox: SessionSandbox): Promise<void>
  /** The owner was heard of. Never back in time. */
  see(id: SessionId, seenAt: number): Promise<void>
  /** Evidence was shown; `provedAt` null when it was not (yet) found to match. */
  show(id: SessionId, evidence: SandboxEvidence, provedAt: number | null): Promise<void>
}
