/** A person's decision about one execution: bound to its call, arguments and binding, used once, by the barrier alone. */
import type {
  ApprovalId,
  approvalStates,
  ExecutionId,
  GrantLimits,
  SessionId,
  UserId,
} from '@sallyport/protocol'

export type ApprovalState = (typeof approvalStates)[number]

/** Where an approval may go from each state. States without a way out are final. */
export const approvalMoves = {
  pending: ['approved', 'denied', 'expired', 'cancelled'],
  approved: ['consumed', 'expired', 'cancelled'],
  consumed: [],
  denied: [],
  expired: [],
  cancelled: [],
} as const satisfies Record<ApprovalState, readonly ApprovalState[]>

export interface Decision {
  readonly by: UserId
  readonly decision: 'approve' | 'deny'
  readonly note: string | null
  readonly at: number
}

export interface Approval {
  readonly id: ApprovalId
  readonly executionId: ExecutionId
  readonly sessionId: SessionId
  /** The requester: owner of the session. */
  readonly ownerId: UserId
  readonly callId: string
  readonly bindingHash: string
  readonly argumentsDigest: string
  readonly digestVersion: number
  readonly state: ApprovalState
  readonly approvers: NonNullable<GrantLimits['approvers']>
  readonly excludesRequester: boolean
  readonly decisions: readonly Decision[]
  readonly requestedAt: number
  /** Pending: until when it may be decided. Approved: until when it may be used. Database's clock. */
  readonly expiresAt: number
  /** When it was consumed, denied, cancelled or expired. */
  readonly closedAt: number | null
}

/** Of one session, waiting at the same time. */
export const pendingAtMost = 8
/** From the decision to the barrier, while the caller is there or the call goes on without it. */
export const useWithinMs = 60_000
