/** What must hold whatever happens, checked at each first byte, after each commit, and when all is over. */
import type { Approval, CallOutcome, Execution, Store } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { digestBytes, type Intent, type JournalReport } from '@sallyport/protocol/node'
import { ApprovalLaws } from './approval-laws.ts'
import { type Asked, CallerLaws, isOwn } from './caller-laws.ts'
import { must, nothing, type Standing } from './law.ts'
import { ToldLaws } from './told-laws.ts'
import { WriteLaws } from './write-laws.ts'

const all = { limit: 1_000 }

export class Laws {
  readonly #store: Store
  readonly #now: () => number
  readonly #writes = new WriteLaws()
  readonly #approvals = new ApprovalLaws()
  readonly #callers = new CallerLaws()
  readonly #told = new ToldLaws((id) => this.#writes.isApplied(id))
  readonly #asks: Asked[] = []
  #standing: Standing = nothing
  #decidedAt = 0

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  get rows(): readonly Execution[] {
    return [...this.#standing.rows.values()]
  }

  /** Whoever revoked has been told that it is done. */
  revoked(): void {
    this.#writes.revoked()
  }

  /** Somebody wants this done once more. */
  wished({ argumentsText }: { readonly argumentsText: string }): void {
    this.#writes.wished(digestBytes(argumentsText))
  }

  asked(ask: Asked): void {
    this.#asks.push(ask)
    this.#callers.asked(ask)
    this.#told.asked(ask)
  }

  /** The result of that execution has arrived. */
  got(ask: Asked, id: ExecutionId): void {
    this.#told.got(ask, id, this.#standing, this.#now())
  }

  /** The answer of that execution has not arrived. */
  lost(id: ExecutionId): void {
    this.#callers.lost(id)
  }

  /** What rows became, what became of callers, what was said: so that laws are not about nothing. */
  get seen(): ReadonlySet<string> {
    const states = this.rows.map(({ state, code }) => (code === null ? state : `${state} ${code}`))
    return new Set([...states, ...this.#callers.seen, ...this.#told.seen])
  }

  /** There is an execution of that call id. */
  isRecorded(ask: Asked): boolean {
    return this.rows.some((row) => isOwn(ask, row))
  }

  isCollected(id: ExecutionId): boolean {
    return this.#standing.rows.get(id)?.caller === 'collected'
  }

  /** Whoever decided about an approval has been told that it is done. */
  confirmed(approval: Approval): void {
    this.#approvals.confirmed(approval)
  }

  /** Its first byte leaves. */
  async applied(intent: Intent): Promise<void> {
    const row = await this.#store.executions.get(intent.executionId as ExecutionId)
    this.#writes.applied(intent, row, this.#standing)
  }

  /** All of a transaction is decided, and not yet committed. */
  decided(): void {
    this.#decidedAt = this.#now()
    this.#callers.decided()
  }

  async committed(): Promise<void> {
    const before = this.#standing
    const after = await this.#look()
    this.#standing = after
    this.#writes.committed({ before, after })
    this.#approvals.committed({ before, after })
    this.#callers.committed({ before, after })
  }

  async #look(): Promise<Standing> {
    const { executions, approvals, instances } = this.#store
    const rows = (await executions.list(all)).toReversed()
    const decisions = await approvals.list(all)
    return {
      rows: new Map(rows.map((row) => [row.id, row])),
      approvals: new Map(decisions.map((approval) => [approval.id, approval])),
      leases: new Map((await instances.list()).map(({ id, leaseUntil }) => [id, leaseUntil])),
      decidedAt: this.#decidedAt,
    }
  }

  /** A caller is answered so. */
  told(ask: Asked, outcome: CallOutcome): void {
    this.#told.told(ask, outcome, this.#standing, this.#asks)
  }

  leftWaiting(callId: string): void {
    must('nobody_waits_for_ever', false, callId)
  }

  verified({ findings }: JournalReport): void {
    must('journal_verifies', findings.length === 0, JSON.stringify(findings))
  }

  over(): void {
    this.#writes.over(this.#standing)
    this.#approvals.over(this.#standing)
    this.#told.over(this.#standing)
  }
}
