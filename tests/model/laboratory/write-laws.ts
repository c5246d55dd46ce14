/** Laws of what is sent, and of the rows that say so. */
import type { Execution, ExecutionState } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import type { Intent } from '@sallyport/protocol/node'
import { type Commit, changes, isIdentical, LawBroken, must, type Standing } from './law.ts'

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

export class WriteLaws {
  readonly #applied = new Map<string, number>()
  /** How often each write is wanted, by the digest of its arguments. */
  readonly #wishes = new Map<string, number>()
  #isRevoked = false

  revoked(): void {
    this.#isRevoked = true
  }

  wished(digest: string): void {
    this.#wishes.set(digest, (this.#wishes.get(digest) ?? 0) + 1)
  }

  isApplied(id: string): boolean {
    return this.#applied.has(id)
  }

  /** Its first byte leaves; `row` is as it is then. */
  applied(intent: Intent, row: Execution | undefined, { rows }: Standing): void {
    const executionId = intent.executionId as ExecutionId
    const times = (this.#applied.get(executionId) ?? 0) + 1
    this.#applied.set(executionId, times)
    must('applied_at_most_once', times === 1, executionId)
    if (row?.state !== 'dispatching' || row.intentId !== intent.id)
      throw new LawBroken('applied_only_while_dispatching', `${executionId} is ${row?.state}`)
    const identical = [...rows.values()].filter((other) => isIdentical(other, row))
    const isUnknown = identical.some(({ state }) => state === 'unknown')
    must('nothing_sent_beside_an_unknown', !isUnknown, executionId)
    if (row.access === 'write') this.#isWanted(row, identical)
  }

  /** However often it is asked for, and whoever leaves: once for each time it is wanted. */
  #isWanted({ id, argumentsDigest }: Execution, identical: readonly Execution[]): void {
    const effects = new Set([
      id,
      ...identical.map((row) => row.id).filter((one) => this.isApplied(one)),
    ])
    const retries = identical.filter(({ resolution }) => resolution?.allowRetry).length
    const wishes = this.#wishes.get(argumentsDigest ?? '') ?? 0
    must(
      'done_once_for_each_wish',
      effects.size <= wishes + retries,
      `${id}: ${effects.size} effects, ${wishes} wishes, ${retries} retries`,
    )
  }

  committed(commit: Commit): void {
    const { before, after } = commit
    const [was, is] = [before.rows.size, after.rows.size]
    for (const [earlier, row] of changes(commit)) this.#changed(earlier, row)
    must('rows_stay', is >= was, `${is} of ${was}`)
  }

  #changed(before: Execution | undefined, row: Execution): void {
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
    const isApplied = this.isApplied(id)
    if (state === 'succeeded') must('succeeded_was_applied', isApplied, id)
    if (state === 'not_sent' || state === 'refused')
      must('not_sent_was_not_applied', !isApplied, id)
  }

  over({ rows }: Standing): void {
    for (const row of rows.values()) {
      must('nothing_stays_dispatching', row.state !== 'dispatching', row.id)
      this.#agrees(row)
    }
    for (const id of this.#applied.keys()) {
      const state = rows.get(id as Execution['id'])?.state
      const isOnRecord = state !== undefined && appliedStates.has(state)
      must('applied_is_on_record', isOnRecord, `${id}: ${state}`)
    }
  }
}
