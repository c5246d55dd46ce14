/** Events from rows and outcomes: by value, so that they stand whatever becomes of the rows. */
import type { InstanceId, UserId } from '@sallyport/protocol'
import type { JournalEvent } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'

/** The first event of an execution: it was recorded in this state. */
export function recordedEvent(row: Execution): JournalEvent {
  return {
    kind: row.state,
    at: row.barrierAt ?? row.finishedAt ?? row.arrivedAt,
    execution: row.id,
    sequence: row.sequence,
    sessionId: row.sessionId,
    ownerId: row.ownerId,
    callId: row.callId,
    connectionId: row.connectionId,
    connectionName: row.connectionName,
    tool: row.tool,
    mode: row.mode,
    bindingHash: row.bindingHash,
    argumentsDigest: row.argumentsDigest,
    approvalId: row.approvalId ?? undefined,
    intentId: row.intentId ?? undefined,
    intentDigest: row.intentDigest ?? undefined,
    code: row.code ?? undefined,
  }
}

export function settledEvent(settlement: Settlement, sequence: number): JournalEvent {
  const { id, state, code, finishedAt, resultDigest, resultBytes, notes } = settlement
  const at = settlement.at ?? finishedAt ?? 0
  return {
    kind: state,
    at,
    execution: id,
    sequence,
    code,
    resultDigest,
    resultBytes,
    notes: notes && Object.keys(notes).length > 0 ? notes : undefined,
  }
}

/** It passed the barrier after it had waited. */
export function dispatchedEvent(row: Execution, sequence: number): JournalEvent {
  return {
    kind: 'dispatching',
    at: row.barrierAt ?? row.arrivedAt,
    execution: row.id,
    sequence,
    intentId: row.intentId ?? undefined,
    intentDigest: row.intentDigest ?? undefined,
    gatewayInstance: row.gatewayInstance,
  }
}

/** Another gateway took over what was dispatching. */
export function claimedEvent(
  { id }: Pick<Execution, 'id'>,
  by: InstanceId,
  sequence: number,
  at: number,
): JournalEvent {
  return { kind: 'claimed', at, execution: id, sequence, gatewayInstance: by }
}

/** What somebody asked for, by value. `of` names what it is about; `said` and `gave` are parts of what was asked. */
export interface Change {
  readonly what: string
  readonly by: { readonly id: UserId; readonly name: string }
  readonly of: Readonly<Record<string, string>>
  readonly said?: unknown
  readonly gave?: readonly string[]
}

/** Somebody changed what may be done, or who may. */
export function changedEvent({ what, by, of, said, gave }: Change, at: number): JournalEvent {
  const { id, name } = by
  return { kind: 'changed', at, notes: { what, by: { id, name }, of: { ...of }, said, gave } }
}
