/** What a barrier decides about one entry, and what it writes for it. */
import type { ErrorCode } from '@sallyport/protocol'
import type { Approval } from '../approval/approval.ts'
import type { Execution } from '../execution/execution.ts'
import type { Order } from './ports.ts'

/** What a call that is held waits for. */
export type WaitsFor = 'person' | 'identical_call' | 'worker'

export type BarrierDecision =
  | { readonly kind: 'passed'; readonly row: Execution }
  /** `about`: the execution that the caller is to be told of, where it is not its own. */
  | {
      readonly kind: 'refused'
      readonly row: Execution
      readonly code: ErrorCode
      readonly about?: Execution
    }
  /** It waits, recorded, before the barrier. */
  | { readonly kind: 'held'; readonly row: Execution; readonly on: Hold }
  /** It is this earlier execution, whose caller is now attached here; nothing was recorded for the call itself. */
  | { readonly kind: 'taken_over'; readonly row: Execution; readonly on: Hold }
  /** It was refused: the outcome of `by`, whose caller is now attached here, is its answer. */
  | { readonly kind: 'answered'; readonly row: Execution; readonly by: Execution }
  /** The session already has this callId; nothing was recorded. */
  | { readonly kind: 'duplicate' }
  /** Not before the barrier any more, or somebody else speaks for it: what it is now. */
  | { readonly kind: 'gone'; readonly row: Execution | undefined }
  /** Another transaction decides about an identical call right now. Nothing was done. */
  | { readonly kind: 'busy' }

export interface Hold {
  readonly for: WaitsFor
  /** How long the profile lets a call be held, ms. */
  readonly holdMs: number
  /** Of its approval, database's clock; undefined without one. */
  readonly expiresAt: number | undefined
}

/** What is written for a decision. */
export interface Plan {
  readonly decision: BarrierDecision
  /** A row to be inserted. */
  readonly insert?: Execution
  /** Inserted with the row. */
  readonly asks?: Approval
  /** A row that was waiting goes on: it is dispatching now. */
  readonly dispatch?: Execution
  /** Of a row that goes on. */
  readonly consumes?: Approval
  /** A row that was waiting is refused, as it is then. */
  readonly refuse?: Execution
  /** The caller of this row, which is as it was read, is attached here. */
  readonly attach?: Execution
  readonly order?: Order
}
