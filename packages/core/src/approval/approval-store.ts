import type { ApprovalId, ExecutionId, SessionId, UserId } from '@sallyport/protocol'
import type { Approval, ApprovalState } from './approval.ts'

export interface ApprovalFilter {
  readonly state?: ApprovalState
  readonly sessionId?: SessionId
  /** Those of this owner, and those whose `approvers` is one of these. */
  readonly visibleTo?: { readonly ownerId: UserId; readonly approvers: readonly string[] }
  readonly limit: number
}

export interface ApprovalReads {
  get(id: ApprovalId): Promise<Approval | undefined>
  ofExecutions(ids: readonly ExecutionId[]): Promise<Approval[]>
  /** Newest first. */
  list(filter: ApprovalFilter): Promise<Approval[]>
  count(state: ApprovalState): Promise<number>
  /** Pending and approved ones whose `expiresAt` is not after `now`, oldest first. */
  overdue(now: number, limit: number): Promise<Approval[]>
}

export interface ApprovalWrites extends ApprovalReads {
  /** Throws TypeError for an execution that has one. */
  insert(approvals: readonly Approval[]): Promise<void>
  /** As they are now, locked in the order of their ids; those that exist. Waits. */
  lock(ids: readonly ApprovalId[]): Promise<ReadonlyMap<ApprovalId, Approval>>
  /** How many of each session are pending. */
  countPending(sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, number>>
  /**
   * Writes state, decisions, `expiresAt` and `closedAt` of rows that this transaction has locked. Throws TypeError for a
   * move that there is not.
   */
  update(approvals: readonly Approval[]): Promise<void>
}
