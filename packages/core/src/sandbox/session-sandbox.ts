/** What a launcher planned for a session, showed of it, and when it was last heard of. Sessions of class external have none. */
import type { BornProcess, SandboxEvidence, SandboxPlan, SessionId } from '@sallyport/protocol'

export interface SessionSandbox {
  readonly sessionId: SessionId
  readonly plan: SandboxPlan
  /** The process that owns it: while it lives and is heard, the session may live. Nobody adopts it. */
  readonly owner: BornProcess
  /** `sha256:` of the key that the owner shows. */
  readonly ownerHash: string
  readonly evidence: SandboxEvidence | null
  /** When the evidence was last found to match. */
  readonly provedAt: number | null
  readonly seenAt: number
}

/** An owner says this often that it is there. */
export const heartbeatMs = 2_000
/** One that was silent for longer is lost, unless no gateway was there to hear it. */
export const silenceMs = 7_000
/** For so long an owner may go on without a gateway, and then prove its sandbox again. */
export const reconnectMs = 600_000
/** From the creation of a session to the evidence that opens it. */
export const verifyMs = 120_000
