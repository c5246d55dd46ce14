/** The part of an execution that an outcome changes, and the change itself; the same on every engine. */
import { type Execution, mayMove, type Settlement } from '@sallyport/core'
import { callerStates, executionStates } from '@sallyport/protocol'
import { errorCode, integer, object, oneOf, orNull, real, text } from './column.ts'
import { table } from './table.ts'

export type Outcome = Pick<
  Execution,
  | 'id'
  | 'state'
  | 'intentId'
  | 'code'
  | 'finishedAt'
  | 'resultDigest'
  | 'resultBytes'
  | 'tookMs'
  | 'caller'
  | 'resolution'
  | 'notes'
  | 'sequence'
>

export const outcomes = table<Outcome>('executions', {
  id: text(),
  state: oneOf(executionStates),
  intentId: orNull(text()),
  code: orNull(errorCode()),
  finishedAt: orNull(integer()),
  resultDigest: orNull(text()),
  resultBytes: orNull(integer()),
  tookMs: orNull(real()),
  caller: orNull(oneOf(callerStates)),
  resolution: orNull(object()),
  notes: object(),
  sequence: integer(),
})

/** Throws TypeError for a move that the state machine does not have. */
export function mustBeMoves(settlements: readonly Settlement[]): void {
  for (const { from, state } of settlements) {
    for (const before of from) {
      if (!mayMove(before, state))
        throw new TypeError(`an execution never moves from ${before} to ${state}`)
    }
  }
}

/** The row afterwards, or undefined when it is in none of the states the outcome is for, or names another intent. */
export function settled<Row extends Outcome>(row: Row, settlement: Settlement): Row | undefined {
  const { from, intentId, caller } = settlement
  if (!from.includes(row.state)) return undefined
  if (intentId !== undefined && row.intentId !== intentId) return undefined
  return {
    ...row,
    state: settlement.state,
    code: settlement.code === undefined ? row.code : settlement.code,
    finishedAt: settlement.finishedAt,
    resultDigest: settlement.resultDigest ?? row.resultDigest,
    resultBytes: settlement.resultBytes ?? row.resultBytes,
    tookMs: settlement.tookMs ?? row.tookMs,
    caller: caller === undefined ? row.caller : caller,
    resolution: settlement.resolution ?? row.resolution,
    notes: settlement.notes ? { ...row.notes, ...settlement.notes } : row.notes,
    sequence: row.sequence + 1,
  }
}

/** States in which a row keeps others with its write key out. */
export function blocksWrites(row: Pick<Execution, 'state' | 'writeKey'>): boolean {
  return row.writeKey !== null && (row.state === 'dispatching' || row.state === 'unknown')
}

/** Open work: not final and not unknown. */
export const unfinishedStates = [
  'awaiting_approval',
  'approved',
  'awaiting_answer',
  'dispatching',
] as const
