import type { Execution } from '../execution/execution.ts'
import type { Waiter } from './holds.ts'
import type { CallOutcome, Delivery } from './ports.ts'

/**
 * Answers, and hears of the delivery when the outcome is one that somebody may have to come for again. What becomes of
 * an answer to somebody who has left says nothing: another one may be its caller by now.
 */
export function tellOutcome(
  row: Execution,
  outcome: CallOutcome,
  { answer, isEarlier, request }: Waiter,
  delivery: Delivery,
  now: number,
): void {
  if (outcome.kind === 'waiting') {
    answer(outcome)
    return
  }
  const hasLeft = request.left?.aborted === true
  const isTaken = row.caller !== null && row.state !== 'unknown' && !hasLeft
  answer({
    ...outcome,
    ...(isEarlier ? { earlier: { finishedAt: row.finishedAt ?? now } } : {}),
    ...(isTaken ? { delivery } : {}),
  })
}
