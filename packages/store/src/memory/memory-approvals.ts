import type { Approval, ApprovalFilter, ApprovalState, ApprovalWrites } from '@sallyport/core'
import type { ApprovalId, ExecutionId, SessionId } from '@sallyport/protocol'
import { mustBeApprovalMove } from '../rows/approval-moves.ts'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { newestFirst, sorted } from './sort.ts'

export class MemoryApprovals implements ApprovalWrites {
  readonly #approvals: MemoryRows<Approval>

  constructor(rows: { approvals: MemoryRows<Approval> }) {
    this.#approvals = rows.approvals
  }

  async get(id: ApprovalId): Promise<Approval | undefined> {
    return this.#approvals.get(id)
  }

  async ofExecutions(ids: readonly ExecutionId[]): Promise<Approval[]> {
    const found = this.#approvals.all().filter(({ executionId }) => ids.includes(executionId))
    return sorted(found, ({ id }) => id)
  }

  async list({ state, sessionId, visibleTo, limit }: ApprovalFilter): Promise<Approval[]> {
    const isVisible = (row: Approval) =>
      !visibleTo || row.ownerId === visibleTo.ownerId || visibleTo.approvers.includes(row.approvers)
    const wanted = this.#approvals
      .all()
      .filter((row) => state === undefined || row.state === state)
      .filter((row) => sessionId === undefined || row.sessionId === sessionId)
      .filter(isVisible)
    return newestFirst(wanted).slice(0, limit)
  }

  async count(state: ApprovalState): Promise<number> {
    return this.#approvals.all().filter((row) => row.state === state).length
  }

  async overdue(now: number, limit: number): Promise<Approval[]> {
    const open = this.#approvals
      .all()
      .filter(({ state }) => state === 'pending' || state === 'approved')
      .filter(({ expiresAt }) => expiresAt <= now)
    const byId = sorted(open, ({ id }) => id)
    return byId.sort((a, b) => a.expiresAt - b.expiresAt).slice(0, limit)
  }

  async insert(approvals: readonly Approval[]): Promise<void> {
    for (const approval of approvals) {
      if ((await this.ofExecutions([approval.executionId])).length > 0) this.#approvals.collide()
      putNew(this.#approvals, approval.id, approval)
    }
  }

  async lock(ids: readonly ApprovalId[]): Promise<ReadonlyMap<ApprovalId, Approval>> {
    const found = this.#approvals.all().filter(({ id }) => ids.includes(id))
    return new Map(sorted(found, ({ id }) => id).map((row) => [row.id, row]))
  }

  async countPending(sessionIds: readonly SessionId[]): Promise<ReadonlyMap<SessionId, number>> {
    const pending = this.#approvals.all().filter(({ state }) => state === 'pending')
    const of = (id: SessionId) => pending.filter(({ sessionId }) => sessionId === id).length
    return new Map(sessionIds.map((id) => [id, of(id)]))
  }

  async update(approvals: readonly Approval[]): Promise<void> {
    for (const { id, ...after } of approvals) {
      const before = this.#approvals.get(id)
      mustBeApprovalMove(before, { id, ...after })
      const { state, decisions, expiresAt, closedAt } = after
      if (before) this.#approvals.put({ ...before, state, decisions, expiresAt, closedAt })
    }
  }
}
