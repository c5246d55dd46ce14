/** What waits to be committed together. */
import type { ErrorCode, IntentId } from '@sallyport/protocol'
import type { Execution } from '../execution/execution.ts'
import type { CallerChange } from '../execution/execution-store.ts'
import type { Instance } from '../instance/instance.ts'
import type { Order, SentBatch } from './ports.ts'
import type { OutcomeToRecord } from './record-outcomes.ts'
import type { Entry } from './scene.ts'
import type { BarrierDecision } from './verdict-of-barrier.ts'

/** `perhaps`: what was decided, where it may have been recorded all the same. */
export type GroupDecision =
  | BarrierDecision
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly perhaps?: BarrierDecision }

export interface PendingEntry {
  readonly entry: Entry
  readonly decided: (decision: GroupDecision) => void
}

export interface PendingSettlement extends OutcomeToRecord {
  readonly intent: IntentId | null
  readonly isWrite: boolean
  readonly done: (moved: boolean) => void
  attempts: number
}

export interface PendingMove {
  readonly change: CallerChange
  readonly done: (moved: boolean) => void
  attempts: number
}

export type Renewal = Pick<Instance, 'id' | 'startedAt'>

export interface Group {
  readonly entries: readonly PendingEntry[]
  readonly refusals: readonly Execution[]
  readonly settlements: readonly PendingSettlement[]
  readonly moves: readonly PendingMove[]
  readonly renewal: Renewal | undefined
}

/** What became of its entries so far. */
export interface Batch {
  decisions: BarrierDecision[]
  orders: readonly Order[]
  sent: SentBatch | undefined
}

/** What its outcomes and moves changed. */
export interface Moved {
  readonly rows: ReadonlySet<PendingSettlement>
  readonly callers: readonly boolean[]
}

/**
 * Nothing at the barrier depends on outcomes of reads; but what could not be recorded once must not fail behind what was
 * sent again.
 */
export function isFirst({ isWrite, attempts }: PendingSettlement): boolean {
  return isWrite || attempts > 0
}

/** Each of them as a group of its own. */
export function eachAlone({ entries, refusals, settlements, moves }: Group): Group[] {
  const none: Group = { entries: [], refusals: [], settlements: [], moves: [], renewal: undefined }
  return [
    ...moves.map((one) => ({ ...none, moves: [one] })),
    ...settlements.map((one) => ({ ...none, settlements: [one] })),
    ...refusals.map((one) => ({ ...none, refusals: [one] })),
    ...entries.map((one) => ({ ...none, entries: [one] })),
  ]
}
