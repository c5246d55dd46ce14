import type {
  ErrorCode,
  ExecutionId,
  GrantId,
  InstanceId,
  SessionId,
  UserId,
} from '@sallyport/protocol'
import type { Execution, ExecutionState } from './execution.ts'

export interface ExecutionFilter {
  readonly ownerId?: UserId
  readonly sessionId?: SessionId
  readonly state?: ExecutionState
  readonly limit: number
}

export interface ExecutionReads {
  get(id: ExecutionId): Promise<Execution | undefined>
  /** Those that exist, by id. */
  getMany(ids: readonly ExecutionId[]): Promise<Execution[]>
  byCall(sessionId: SessionId, callId: string): Promise<Execution | undefined>
  /** Newest first. */
  list(filter: ExecutionFilter): Promise<Execution[]>
  count(state: ExecutionState): Promise<number>
  /** Dispatching rows whose gateway instance is unknown, or holds no lease at `now`, or is `owner`. */
  abandoned(now: number, owner?: InstanceId): Promise<Execution[]>
  /** Dispatching rows of an instance. */
  dispatchingOf(instance: InstanceId): Promise<Execution[]>
  /** Open work of a session: not final and not unknown. */
  unfinishedOf(sessionId: SessionId): Promise<Execution[]>
}

/** What one outcome writes. Absent fields keep their value; `notes` are merged over the stored ones. */
export interface Settlement {
  readonly id: ExecutionId
  readonly from: readonly ExecutionState[]
  readonly state: ExecutionState
  readonly code?: ErrorCode | null
  readonly finishedAt: number
  readonly resultDigest?: string
  readonly resultBytes?: number
  readonly tookMs?: number
  readonly notes?: Readonly<Record<string, unknown>>
}

export interface ExecutionWrites extends ExecutionReads {
  /**
   * Inserts each row on its own: one refusal never undoes its neighbours. Returned in the order given:
   * `inserted`; `call` when the session already has that callId; `write` when the row is `dispatching` and another
   * with its writeKey is dispatching or unknown, or is being recorded by another transaction right now.
   */
  insert(rows: readonly Execution[]): Promise<('inserted' | 'call' | 'write')[]>
  /**
   * Compare-and-swap each, in the order given: the own sequence of the event that each one is, undefined where the row
   * did not move. Throws TypeError for a move that the state machine does not have.
   */
  settle(settlements: readonly Settlement[]): Promise<(number | undefined)[]>
  /**
   * Hands a dispatching row to another instance: the own sequence of that event, or undefined when it is no longer
   * `from`'s or not dispatching.
   */
  claim(id: ExecutionId, from: InstanceId, to: InstanceId): Promise<number | undefined>
  /** Merges notes whatever the state. */
  note(id: ExecutionId, notes: Readonly<Record<string, unknown>>): Promise<void>
  /** Rows of this session and grant that passed the barrier after `since`. */
  countPassed(sessionId: SessionId, grantId: GrantId, since: number): Promise<number>
}
