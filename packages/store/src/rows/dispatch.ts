/** The part of an execution that its way past the barrier changes. */
import type { Execution } from '@sallyport/core'
import { executionStates } from '@sallyport/protocol'
import { integer, oneOf, orNull, text } from './column.ts'
import { table } from './table.ts'

export type Dispatch = Pick<
  Execution,
  | 'id'
  | 'state'
  | 'writeKey'
  | 'intentId'
  | 'intentDigest'
  | 'intentIssuedAt'
  | 'gatewayInstance'
  | 'workerInstance'
  | 'notAfter'
  | 'barrierAt'
  | 'sequence'
>

export const dispatches = table<Dispatch>('executions', {
  id: text(),
  state: oneOf(executionStates),
  writeKey: orNull(text()),
  intentId: orNull(text()),
  intentDigest: orNull(text()),
  intentIssuedAt: orNull(integer()),
  gatewayInstance: text(),
  workerInstance: orNull(text()),
  notAfter: orNull(integer()),
  barrierAt: orNull(integer()),
  sequence: integer(),
})

/**
 * Each on its own, in the order given: its row afterwards, or undefined. `stored` are the rows as they are, `blocked` the
 * write keys of those that are dispatching or unknown; both are kept up to date.
 */
export function dispatchEach<Row extends Dispatch>(
  given: readonly Dispatch[],
  stored: Map<string, Row>,
  blocked: Set<string>,
): (Row | undefined)[] {
  return given.map((attempt) => {
    const row = stored.get(attempt.id)
    if (row?.state !== 'approved') return undefined
    if (row.writeKey !== null && blocked.has(row.writeKey)) return undefined
    const after = dispatched(row, attempt)
    stored.set(after.id, after)
    if (after.writeKey !== null) blocked.add(after.writeKey)
    return after
  })
}

function dispatched<Row extends Dispatch>(row: Row, given: Dispatch): Row {
  return {
    ...row,
    state: 'dispatching',
    intentId: given.intentId,
    intentDigest: given.intentDigest,
    intentIssuedAt: given.intentIssuedAt,
    gatewayInstance: given.gatewayInstance,
    workerInstance: given.workerInstance,
    notAfter: given.notAfter,
    barrierAt: given.barrierAt,
    sequence: row.sequence + 1,
  }
}
