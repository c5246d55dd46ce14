/** What must hold whatever happens, checked at each first byte, after each commit, and when all is over. */
import type { CallOutcome, Execution, ExecutionState, Store } from '@sallyport/core'
import type { Intent, JournalReport } from '@sallyport/protocol/node'

export class LawBroken extends Error {
  readonly law: string

  constructor(law: string, detail: string) {
    super(`${law}: ${detail}`)
    this.law = law
  }
}

function must(law: string, holds: boolean, detail: string): void {
  if (!holds) throw new LawBroken(law, detail)
}

/** Not those of the core: what it allows itself is what is in question. */
const mayBecome: Readonly<Record<string, readonly ExecutionState[]>> = {
  awaiting_approval: ['approved', 'refused'],
  approved: ['dispatching', 'refused'],
  dispatching: ['succeeded', 'tool_error', 'not_sent', 'unknown', 'lost'],
  unknown: ['resolved'],
}

const appliedStates: ReadonlySet<ExecutionState> = new Set([
  'succeeded',
  'tool_error',
  'unknown',
  'resolved',
  'lost',
])

/** Codes that tell a caller that nothing was done. */
const notApplied: ReadonlySet<string> = new Set([
  'not_sent',
  'expired',
  'upstream_unreachable',
  'call_cancelled',
  'grant_changed',
  'worker_down',
  'identical_in_flight',
  'intent_refused',
])

function isIdentical(one: Execution, other: Execution): boolean {
  const { access, ownerId, connectionId, tool, argumentsDigest } = one
  return (
    access === 'write' &&
    ownerId === other.ownerId &&
    connectionId === other.connectionId &&
    tool === other.tool &&
    argumentsDigest === other.argumentsDigest
  )
}

export class Laws {
  readonly #store: Store
  readonly #applied = new Map<string, number>()
  #rows = new Map<string, Execution>()
  #isRevoked = false

  constructor(store: Store) {
    this.#store = store
  }

  get rows(): readonly Execution[] {
    return [...this.#rows.values()]
  }

  /** Whoever revoked has been told that it is done. */
  revoked(): void {
    this.#isRevoked = true
  }

  /** Its first byte leaves. */
  async applied({ executionId, id }: Intent): Promise<void> {
    const execution = executionId as Execution['id']
    const times = (this.#applied.get(execution) ?? 0) + 1
    this.#applied.set(execution, times)
    must('applied_at_most_once', times === 1, execution)
    const row = await this.#store.executions.get(execution)
    if (row?.state !== 'dispatching' || row.intentId !== id)
      throw new LawBroken('applied_only_while_dispatching', `${execution} is ${row?.state}`)
    must(
      'nothing_sent_beside_an_unknown',
      !this.rows.some((other) => other.state === 'unknown' && isIdentical(other, row)),
      execution,
    )
  }

  async committed(): Promise<void> {
    const rows = await this.#store.executions.list({ limit: 1000 })
    for (const row of rows) this.#changed(this.#rows.get(row.id), row)
    must('rows_stay', rows.length >= this.#rows.size, `${rows.length} of ${this.#rows.size}`)
    this.#rows = new Map(rows.map((row) => [row.id, row]))
  }

  #changed(before: Execution | undefined, row: Execution): void {
    if (before?.state === row.state) return
    const { id, state } = row
    if (before)
      must(
        'final_for_ever',
        mayBecome[before.state]?.includes(state) === true,
        `${id}: ${before.state} becomes ${state}`,
      )
    if (state === 'dispatching') must('no_barrier_after_revocation', !this.#isRevoked, id)
    this.#agrees(row)
  }

  /** What a row says is what happened. */
  #agrees({ id, state }: Execution): void {
    const isApplied = this.#applied.has(id)
    if (state === 'succeeded') must('succeeded_was_applied', isApplied, id)
    if (state === 'not_sent' || state === 'refused')
      must('not_sent_was_not_applied', !isApplied, id)
  }

  /** A caller was answered so. */
  told(outcome: CallOutcome): void {
    const { executionId } = outcome
    if (executionId === null) return
    const isApplied = this.#applied.has(executionId)
    const isAnswer = outcome.kind === 'result'
    if (isAnswer) must('answer_was_applied', isApplied, executionId)
    else if (notApplied.has(outcome.code)) must('refusal_was_not_applied', !isApplied, executionId)
  }

  leftWaiting(callId: string): void {
    must('nobody_waits_for_ever', false, callId)
  }

  verified({ findings }: JournalReport): void {
    must('journal_verifies', findings.length === 0, JSON.stringify(findings))
  }

  over(): void {
    for (const row of this.rows) {
      must('nothing_stays_dispatching', row.state !== 'dispatching', row.id)
      this.#agrees(row)
    }
    for (const id of this.#applied.keys()) {
      const state = this.#rows.get(id)?.state
      must(
        'applied_is_on_record',
        state !== undefined && appliedStates.has(state),
        `${id}: ${state}`,
      )
    }
  }
}
