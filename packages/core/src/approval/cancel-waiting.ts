import type { ErrorCode } from '@sallyport/protocol'
import type { Execution } from '../execution/execution.ts'
import { settledEvent } from '../journal/events.ts'
import type { PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { toldEvent } from '../webhook/told-event.ts'

/** States before the barrier. */
export const beforeBarrier = ['awaiting_approval', 'approved'] as const

export function isBeforeBarrier({ state }: Pick<Execution, 'state'>): boolean {
  return state === 'awaiting_approval' || state === 'approved'
}

/**
 * Refuses executions before their barrier, whoever holds them, and cancels their approvals (or lets them expire). Those
 * that are not before it any more stay. What was refused is told to whoever waits for it, and given back.
 */
export async function cancelWaiting(
  tx: Tx,
  page: PageDraft,
  rows: readonly Execution[],
  because: { readonly code: ErrorCode; readonly notes?: Readonly<Record<string, unknown>> },
): Promise<Execution[]> {
  if (rows.length === 0) return []
  const now = await tx.now()
  const approvals = await tx.approvals.lock(rows.flatMap(({ approvalId }) => approvalId ?? []))
  const settlements = rows.map(({ id }) => ({
    id,
    from: beforeBarrier,
    state: 'refused' as const,
    code: because.code,
    finishedAt: now,
    caller: null,
    ...(because.notes ? { notes: because.notes } : {}),
  }))
  const sequences = await tx.executions.settle(settlements)
  const moved = rows.filter((_, at) => sequences[at] !== undefined)
  for (const [at, settlement] of settlements.entries()) {
    const sequence = sequences[at]
    if (sequence !== undefined) page.note(settledEvent(settlement, sequence))
  }
  const state = because.code === 'approval_expired' ? ('expired' as const) : ('cancelled' as const)
  const open = moved.flatMap(({ approvalId }) => {
    const approval = approvalId ? approvals.get(approvalId) : undefined
    return approval?.state === 'pending' || approval?.state === 'approved' ? [approval] : []
  })
  await tx.approvals.update(open.map((approval) => ({ ...approval, state, closedAt: now })))
  const ended = new Set(open.map(({ executionId }) => executionId))
  for (const row of moved)
    if (ended.has(row.id)) page.tell(toldEvent(`approval.${state}`, now, row))
  await tx.announce(moved.map(({ id }) => id))
  return moved
}
