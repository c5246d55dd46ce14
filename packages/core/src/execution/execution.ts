/**
 * An execution is the journal row of a call. States and the moves between them are the whole law of what may happen to
 * a call; every move is a compare-and-swap.
 */
import type {
  ApprovalId,
  BindingId,
  ConnectionId,
  callerStates,
  ErrorCode,
  ExecutionId,
  executionStates,
  GrantId,
  InstanceId,
  IntentId,
  resolutionOutcomes,
  SessionId,
  UserId,
} from '@sallyport/protocol'
import type { Access } from '../catalog/catalog.ts'
import type { Mode } from '../grant/grant.ts'

export type ExecutionState = (typeof executionStates)[number]

/**
 * Where whoever asked for a write is. `attached`: a transport of `callerInstance` holds its answer open. `detached`: it
 * left, or was told to come again. `held_back`: it took its request back by leaving, in 2026-07-28, before the barrier.
 * `collected`: it has the answer.
 */
export type CallerState = (typeof callerStates)[number]

/** What a person found out about an unknown outcome. */
export interface Resolution {
  readonly outcome: (typeof resolutionOutcomes)[number]
  readonly by: UserId
  readonly note: string
  readonly at: number
  /** Identical calls are not answered with it. */
  readonly allowRetry: boolean
}

/** Where an execution may go from each state. States without a way out are final. */
export const moves = {
  refused: [],
  awaiting_approval: ['approved', 'refused'],
  approved: ['dispatching', 'refused'],
  awaiting_answer: ['succeeded', 'refused'],
  dispatching: ['succeeded', 'tool_error', 'not_sent', 'lost', 'unknown', 'awaiting_answer'],
  succeeded: [],
  tool_error: [],
  not_sent: [],
  lost: [],
  unknown: ['resolved'],
  resolved: [],
} as const satisfies Record<ExecutionState, readonly ExecutionState[]>

export function mayMove(from: ExecutionState, to: ExecutionState): boolean {
  return (moves[from] as readonly ExecutionState[]).includes(to)
}

export interface Execution {
  readonly id: ExecutionId
  readonly sessionId: SessionId
  readonly ownerId: UserId
  /** The harness's own stable id, or a random one. Unique within the session. */
  readonly callId: string
  readonly state: ExecutionState
  /** Set for everything but a plain success. */
  readonly code: ErrorCode | null
  /** Place in the guest's arguments that was refused, a JSON pointer. */
  readonly field: string | null
  readonly connectionId: ConnectionId | null
  readonly connectionName: string
  /** The upstream's name, or what the guest asked for when nothing was bound. */
  readonly tool: string
  readonly mode: Mode | null
  readonly access: Access | null
  readonly bindingId: BindingId | null
  readonly bindingHash: string | null
  readonly grantId: GrantId | null
  readonly argumentsDigest: string | null
  readonly digestVersion: number
  /** Of a write: what makes two writes identical (owner, connection, tool, effective arguments); null for reads. */
  readonly writeKey: string | null
  readonly approvalId: ApprovalId | null
  readonly intentId: IntentId | null
  /** Digest of the intent as sent. */
  readonly intentDigest: string | null
  /** The gateway instance that owns a dispatching row, and the worker instance the intent is addressed to. */
  readonly gatewayInstance: InstanceId
  readonly workerInstance: string | null
  /** ms since 1970; the intent cannot have been started and answered later than this. */
  readonly notAfter: number | null
  readonly intentIssuedAt: number | null
  readonly arrivedAt: number
  readonly barrierAt: number | null
  readonly finishedAt: number | null
  readonly resultDigest: string | null
  readonly resultBytes: number | null
  readonly tookMs: number | null
  /** Of a write, as long as somebody may still take its outcome; null for reads and where nobody may. */
  readonly caller: CallerState | null
  /** The gateway instance that holds an attached caller, or held it last. */
  readonly callerInstance: InstanceId | null
  /** The caller speaks 2026-07-28: by leaving it takes its request back. */
  readonly isModern: boolean
  readonly collectedAt: number | null
  /** The first of the sessions that continue one another; they count as one for re-attachment. */
  readonly chainId: SessionId
  /** How long arguments and result are kept once it is final, in ms; null when they are not. */
  readonly retainMs: number | null
  readonly resolution: Resolution | null
  /** Server requests refused, violations, late evidence, what answered it instead. */
  readonly notes: Readonly<Record<string, unknown>>
  /** How many events the journal has of it, which is the own sequence of the newest; 0 from before there was a journal. */
  readonly sequence: number
}
