import type {
  Approval,
  ApprovalFilter,
  ApprovalReads,
  ApprovalState,
  ApprovalWrites,
} from '@sallyport/core'
import type { ApprovalId, ExecutionId, SessionId } from '@sallyport/protocol'
import { mustBeApprovalMove } from '../rows/approval-moves.ts'
import { approvals } from '../rows/tables.ts'
import type { Param, SqlReader, SqlWriter, Update } from './driver.ts'
import { count, readAll, readOne, select } from './statements.ts'

const byId = select(approvals, 'WHERE id = $1')
const ofExecutions = select(approvals, 'WHERE execution_id = ANY($1) ORDER BY id')
const overdue = select(
  approvals,
  `WHERE state IN ('pending', 'approved') AND expires_at <= $1
   ORDER BY expires_at, id LIMIT $2`,
)
const forChange = select(approvals, 'WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE')
const countPending = `SELECT session_id, count(*) FROM approvals
  WHERE session_id = ANY($1) AND state = 'pending' GROUP BY session_id`
const change: Update = {
  name: approvals.name,
  columns: ['id', 'state', 'decisions', 'expires_at', 'closed_at'],
  types: ['text', 'text', 'text', 'integer', 'integer'],
  keys: 1,
}
const changed = change.columns.map((column) => approvals.columns.indexOf(column))

export class SqlApprovalReads implements ApprovalReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: ApprovalId): Promise<Approval | undefined> {
    return readOne(this.#db, approvals, byId, [id])
  }

  async ofExecutions(ids: readonly ExecutionId[]): Promise<Approval[]> {
    return ids.length === 0 ? [] : readAll(this.#db, approvals, ofExecutions, [ids])
  }

  list(filter: ApprovalFilter): Promise<Approval[]> {
    const { text, params } = listed(filter)
    const sql = select(approvals, `${text} ORDER BY id DESC LIMIT $${params.length + 1}`)
    return readAll(this.#db, approvals, sql, [...params, filter.limit])
  }

  count(state: ApprovalState): Promise<number> {
    return count(this.#db, 'SELECT count(*) FROM approvals WHERE state = $1', [state])
  }

  overdue(now: number, limit: number): Promise<Approval[]> {
    return readAll(this.#db, approvals, overdue, [now, limit])
  }
}

export class SqlApprovalWrites extends SqlApprovalReads implements ApprovalWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  insert(rows: readonly Approval[]): Promise<void> {
    return this.#tx.insertAll(approvals, rows.map(approvals.keep))
  }

  async lock(ids: readonly ApprovalId[]): Promise<ReadonlyMap<ApprovalId, Approval>> {
    if (ids.length === 0) return new Map()
    const rows = await readAll(this.#tx, approvals, forChange, [ids])
    return new Map(rows.map((row) => [row.id, row]))
  }

  async countPending(sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, number>> {
    const counts = new Map(sessionIds.map((id) => [id, 0]))
    for (const [id, pending] of await this.#tx.rows(countPending, [sessionIds]))
      counts.set(id as SessionId, Number(pending))
    return counts
  }

  async update(rows: readonly Approval[]): Promise<void> {
    const now = new Map(await this.lock(rows.map(({ id }) => id)))
    for (const row of rows) {
      mustBeApprovalMove(now.get(row.id), row)
      now.set(row.id, row)
    }
    const kept = [...now.values()].map(approvals.keep)
    await this.#tx.updateAll(
      change,
      kept.map((row) => changed.map((place) => row[place] ?? null)),
    )
  }
}

function listed({ state, sessionId, visibleTo }: ApprovalFilter) {
  const params: Param[] = []
  const terms: string[] = []
  const param = (value: Param) => `$${params.push(value)}`
  if (state !== undefined) terms.push(`state = ${param(state)}`)
  if (sessionId !== undefined) terms.push(`session_id = ${param(sessionId)}`)
  if (visibleTo !== undefined) {
    const { ownerId, approvers } = visibleTo
    terms.push(`(owner_id = ${param(ownerId)} OR approvers = ANY(${param(approvers)}))`)
  }
  return { text: terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`, params }
}
