import type {
  ConnectionId,
  ErrorCode,
  ExecutionId,
  GrantId,
  InstanceId,
  IntentId,
  SessionId,
  UserId,
} from '@sallyport/protocol'
import type { CallerState, Execution, ExecutionState, Resolution } from './execution.ts'

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
  /** Before the barrier (`awaiting_approval`, `approved`), of any session, oldest first. */
  waiting(limit: number): Promise<Execution[]>
  /**
   * Rows with these write keys that an identical call has to reckon with, oldest first: those with a caller that has not
   * collected. Every unfinished and every unknown one is among them.
   */
  twins(writeKeys: readonly string[]): Promise<Execution[]>
  /** Those with this write key that arrived after `since`, newest first. */
  identical(writeKey: string, since: number, limit: number): Promise<Execution[]>
  /** Of one owner's calls of a tool, those whose outcome is unknown, newest first. */
  unknownOf(
    tool: { ownerId: UserId; connectionId: ConnectionId; tool: string },
    limit: number,
  ): Promise<Execution[]>
}

/** What one outcome writes. Absent fields keep their value; `notes` are merged over the stored ones. */
export interface Settlement {
  readonly id: ExecutionId
  readonly from: readonly ExecutionState[]
  /** Moves the row only while it names this intent: what is believed of another attempt says nothing of this one. */
  readonly intentId?: IntentId
  readonly state: ExecutionState
  readonly code?: ErrorCode | null
  /** Null for what does not end it: an approval. */
  readonly finishedAt: number | null
  /** When it was decided, where that is not `finishedAt`. */
  readonly at?: number
  readonly resultDigest?: string
  readonly resultBytes?: number
  readonly tookMs?: number
  readonly notes?: Readonly<Record<string, unknown>>
  readonly caller?: CallerState | null
  readonly resolution?: Resolution
}

/** Moves the caller of a row, whatever the row's state. */
export interface CallerChange {
  readonly id: ExecutionId
  readonly from: readonly CallerState[]
  /** Only while this instance holds the caller or held it last. */
  readonly of?: InstanceId
  readonly to: CallerState
  readonly by: InstanceId
  /** Set together with `to: 'attached'`: who takes over may speak another era. */
  readonly isModern?: boolean
  /** For `collected`. */
  readonly at?: number
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
  /** The rows as they are now, under a lock that every change of them waits for; those that exist. Waits. */
  lock(ids: readonly ExecutionId[]): Promise<ReadonlyMap<ExecutionId, Execution>>
  /**
   * Takes the right to let rows of these write keys be inserted or sent, until the transaction ends. `try` leaves out what
   * another transaction holds; `wait` waits for it. Identical rows that are read afterwards stay what they are.
   */
  holdWriteKeys(keys: readonly string[], how: 'try' | 'wait'): Promise<ReadonlySet<string>>
  /**
   * From `approved` to `dispatching`, each on its own: writes intent, worker, owner and times of the given row. Its own
   * sequence afterwards, or undefined when the row is not `approved` any more, or another with its write key is dispatching
   * or unknown. Needs the rows locked and their write keys held.
   */
  dispatch(rows: readonly Execution[]): Promise<(number | undefined)[]>
  /** Compare-and-swap each, in the order given; which of them moved. Never an `unknown` row to `collected`. */
  moveCallers(changes: readonly CallerChange[]): Promise<boolean[]>
  /** Merges notes whatever the state. */
  note(id: ExecutionId, notes: Readonly<Record<string, unknown>>): Promise<void>
  /** Rows of this session and grant that passed the barrier after `since`. */
  countPassed(sessionId: SessionId, grantId: GrantId, since: number): Promise<number>
}
