import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { Execution } from '../execution/execution.ts'
import type { CallOutcome } from './ports.ts'
import type { Hold } from './verdict-of-barrier.ts'

type Waiting = Extract<CallOutcome, { kind: 'waiting' }>

/** What whoever is to come again is told. */
export function stillWaits({ row, on }: { readonly row: Execution; readonly on: Hold }): Waiting {
  return { kind: 'waiting', executionId: row.id, for: waitsFor(row, on) }
}

function waitsFor(row: Execution, on: Hold): Waiting['for'] {
  if (row.state === 'awaiting_approval')
    return on.for === 'identical_call' ? 'identical_call' : 'person'
  return row.state === 'approved' && on.for === 'identical_call' ? 'identical_call' : 'answer'
}

/** Held back, it would wait for an approval to expire; it has none. */
export function wouldWaitForEver(row: Execution): boolean {
  return row.isModern && row.approvalId === null && isBeforeBarrier(row)
}
