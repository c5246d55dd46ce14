/** Laws of what people decide. */
import type { Approval, ApprovalState, Execution } from '@sallyport/core'
import { type Commit, changes, isBeforeBarrier, isIdentical, must, type Standing } from './law.ts'

/** Not those of the core: what it allows itself is what is in question. */
const mayBecome: Readonly<Record<string, readonly ApprovalState[]>> = {
  pending: ['approved', 'denied', 'expired', 'cancelled'],
  approved: ['consumed', 'expired', 'cancelled'],
}

/** Of one session, at the same time. */
const pendingAtMost = 8

export class ApprovalLaws {
  #commits = 0
  /** By execution: the commit since which it was approved. */
  readonly #approvedSince = new Map<string, number>()
  /** By arguments: the commit that recorded the newest unknown one. */
  readonly #unknownSince = new Map<string, number>()
  #standing: Standing | undefined

  /** Somebody was told that the decision is taken. */
  confirmed({ id, decisions }: Approval): void {
    const stored = this.#standing?.approvals.get(id)
    const isThere = decisions.every(({ by, at }) =>
      stored?.decisions.some((decision) => decision.by === by && decision.at === at),
    )
    must('a_confirmed_decision_stands', isThere, id)
  }

  committed(commit: Commit): void {
    const { before, after } = commit
    this.#standing = after
    this.#commits++
    for (const approval of after.approvals.values()) {
      const earlier = before.approvals.get(approval.id)
      if (earlier !== approval) this.#moved(earlier, approval)
      this.#goesWith(approval, after.rows.get(approval.executionId))
    }
    for (const [, row] of changes(commit)) this.#changed(row, commit)
    for (const [session, count] of pendingOf(after))
      must('at_most_eight_wait', count <= pendingAtMost, session)
  }

  over({ rows, approvals }: Standing): void {
    for (const row of rows.values()) must('nothing_waits_for_ever', !isBeforeBarrier(row), row.id)
    for (const { id, state } of approvals.values())
      must('every_approval_ends', state !== 'pending' && state !== 'approved', id)
  }

  #moved(before: Approval | undefined, { id, state, decisions }: Approval): void {
    if (!before) return
    const isMove = before.state !== state
    must(
      'a_decided_approval_stays',
      !isMove || mayBecome[before.state]?.includes(state) === true,
      `${id}: ${before.state} becomes ${state}`,
    )
    const isKept = before.decisions.every((decision, at) => decisions[at]?.by === decision.by)
    must('decisions_stay', isKept, id)
  }

  /** Both move together: consumed by the barrier of its execution, ended with it. */
  #goesWith({ id, state }: Approval, row: Execution | undefined): void {
    const hasPassed = row?.intentId !== null
    must(
      'consumed_by_its_barrier',
      (state === 'consumed') === hasPassed,
      `${id} is ${state}, its execution ${row?.state}`,
    )
    const fits = row !== undefined && state === stateBeside(row)
    must('ends_with_its_execution', fits, `${id} is ${state}, its execution ${row?.state}`)
  }

  #changed(row: Execution, commit: Commit): void {
    const { before, after } = commit
    const { id, state, argumentsDigest } = row
    const key = argumentsDigest ?? ''
    if (state === 'approved') this.#approvedSince.set(id, this.#commits)
    if (state === 'unknown' && row.access === 'write') {
      this.#unknownSince.set(key, this.#commits)
      this.#endsIdentical(row, commit)
    }
    if (row.code === 'too_many_approvals') {
      const counts = [before, after].map((standing) => pendingOf(standing).get(row.sessionId) ?? 0)
      must('too_many_are_eight', Math.max(...counts) >= pendingAtMost, id)
    }
    if (state !== 'dispatching' || row.mode !== 'write_with_approval') return
    this.#isApproved(row, commit)
    const approved = this.#approvedSince.get(id) ?? 0
    const isYounger = approved > (this.#unknownSince.get(key) ?? 0)
    must('approval_younger_than_unknown', isYounger, id)
  }

  /** Nothing that waited beside it goes on: its approval was given without knowing. */
  #endsIdentical(unknown: Execution, { before, after }: Commit): void {
    for (const row of after.rows.values()) {
      const stays = before.rows.has(row.id) && isBeforeBarrier(row) && isIdentical(row, unknown)
      must('an_unknown_ends_what_is_identical', !stays, row.id)
    }
  }

  #isApproved({ id, approvalId }: Execution, { before, after }: Commit): void {
    const approval = approvalId ? before.approvals.get(approvalId) : undefined
    const approvers = (approval?.decisions ?? []).map(({ by }) => by)
    const needed = approval?.approvers === 'two' ? 2 : 1
    const isGiven =
      approval?.state === 'approved' &&
      new Set(approvers).size >= needed &&
      approval.decisions.every(({ decision }) => decision === 'approve')
    must('no_barrier_without_its_approval', isGiven, `${id}: ${approval?.state}`)
    const isInTime = after.decidedAt < (approval?.expiresAt ?? 0)
    must('no_barrier_on_an_expired_approval', isInTime, id)
  }
}

function pendingOf({ approvals }: Standing): Map<string, number> {
  const pending = [...approvals.values()].filter(({ state }) => state === 'pending')
  const bySession = Map.groupBy(pending, ({ sessionId }) => sessionId)
  return new Map([...bySession].map(([session, { length }]) => [session, length]))
}

function stateBeside({ state, code }: Execution): ApprovalState {
  if (state === 'awaiting_approval') return 'pending'
  if (state === 'approved') return 'approved'
  if (state !== 'refused') return 'consumed'
  if (code === 'approval_denied') return 'denied'
  return code === 'approval_expired' ? 'expired' : 'cancelled'
}
