/**
 * What must be true after kills, of one look at the database and of two. A law gives the sentences that say how it is
 * broken; what it needs are plain facts, so that a test can break it.
 */
import type { ApprovalSeen, Ledger, RowSeen } from './ledger.ts'
import type { Effect } from './upstream-program.ts'

const final: ReadonlySet<string> = new Set([
  'refused',
  'succeeded',
  'tool_error',
  'not_sent',
  'lost',
  'resolved',
])
const finalApprovals: ReadonlySet<string> = new Set(['consumed', 'denied', 'expired', 'cancelled'])
const passed: ReadonlySet<string> = new Set([
  'dispatching',
  'succeeded',
  'tool_error',
  'not_sent',
  'lost',
  'unknown',
  'resolved',
])
/** States of a row whose write took effect, at once and in the end. */
const mayHaveActed: ReadonlySet<string> = new Set([
  'dispatching',
  'succeeded',
  'unknown',
  'resolved',
])

const told = (fact: object): string => JSON.stringify(fact)

/** Of one look, whenever it is taken: approvals, rows and effects fit one another. */
export function momentLaws({ rows, approvals }: Ledger, effects: readonly Effect[]): string[] {
  return [
    ...[...approvals.values()].flatMap((approval) => approvalFits(approval, rows)),
    ...[...rows.values()].flatMap((row) => rowFits(row, approvals)),
    ...keysTwice(rows),
    ...effects.flatMap(({ execution, id }) => {
      const row = rows.get(execution)
      return row && mayHaveActed.has(row.state)
        ? []
        : [`the write ${id} took effect, its row is ${row?.state ?? 'missing'} (${execution})`]
    }),
  ]
}

function approvalFits(approval: ApprovalSeen, rows: Ledger['rows']): string[] {
  const row = rows.get(approval.execution_id)
  if (!row || row.approval_id !== approval.id)
    return [`an approval without its row ${told(approval)}`]
  const isConsumed = approval.state === 'consumed'
  const hasPassed = row.barrier_at !== null && passed.has(row.state)
  if (isConsumed !== hasPassed) return [`approval ${approval.state} beside a row ${told(row)}`]
  const fits: Readonly<Record<string, string>> = {
    pending: 'awaiting_approval',
    approved: 'approved',
    denied: 'refused',
    expired: 'refused',
    cancelled: 'refused',
  }
  const wanted = fits[approval.state]
  return wanted === undefined || wanted === row.state
    ? []
    : [`approval ${approval.state} beside a row ${told(row)}`]
}

function rowFits(row: RowSeen, approvals: Ledger['approvals']): string[] {
  if (row.approval_id !== null && !approvals.has(row.approval_id))
    return [`a row without its approval ${told(row)}`]
  const hasIntent = row.intent_id !== null
  return hasIntent === (row.barrier_at !== null) && (!passed.has(row.state) || hasIntent)
    ? []
    : [`intent and barrier do not fit ${told(row)}`]
}

function keysTwice(rows: Ledger['rows']): string[] {
  const seen = new Set<string>()
  return [...rows.values()].flatMap(({ write_key: key, state, id }) => {
    if (key === null || (state !== 'dispatching' && state !== 'unknown')) return []
    const isTwice = seen.has(key)
    seen.add(key)
    return isTwice ? [`two identical writes are dispatching or unknown: ${id}`] : []
  })
}

/** Of two looks, the later one second: what was final still is, in every word. */
export function historyLaws(before: Ledger, after: Ledger): string[] {
  const rows = [...before.rows.values()].flatMap((row) => {
    const next = after.rows.get(row.id)
    if (!next) return [`a row is gone ${told(row)}`]
    if (next.sequence < row.sequence) return [`a row went back ${told(row)} ${told(next)}`]
    return final.has(row.state) && outcomeOf(row) !== outcomeOf(next)
      ? [`a row left a final state ${told(row)} ${told(next)}`]
      : []
  })
  const approvals = [...before.approvals.values()].flatMap((approval) => {
    const next = after.approvals.get(approval.id)
    const isKept = next && (!finalApprovals.has(approval.state) || next.state === approval.state)
    return isKept ? [] : [`an approval left a final state ${told(approval)} ${told({ next })}`]
  })
  return [...rows, ...approvals]
}

const outcomeOf = ({ state, code, intent_id, finished_at, result_digest }: RowSeen): string =>
  told({ state, code, intent_id, finished_at, result_digest })
