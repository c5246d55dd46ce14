/** Laws of what callers are told: it is true when it is said, and stays true. */
import type { CallOutcome, Execution, ExecutionState } from '@sallyport/core'
import type { ErrorCode, ExecutionId } from '@sallyport/protocol'
import { type Asked, isOwn } from './caller-laws.ts'
import { hasLeft, must, type Standing } from './law.ts'

type Outcome<Kind extends CallOutcome['kind']> = Extract<CallOutcome, { kind: Kind }>

/** Codes that tell a caller that its execution was not sent, and will not be. */
const notApplied: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'not_sent',
  'expired',
  'upstream_unreachable',
  'call_cancelled',
  'grant_changed',
  'authority_busy',
  'worker_down',
  'identical_in_flight',
  'intent_refused',
  'approval_denied',
  'approval_expired',
  'approval_settled',
  'too_many_approvals',
])

const known: ReadonlySet<ExecutionState> = new Set([
  'succeeded',
  'tool_error',
  'not_sent',
  'refused',
])

interface Got {
  readonly id: ExecutionId
  readonly ask: Asked
  readonly moment: number
  /** The caller of that execution, for all that was on record. */
  readonly wasItsCaller: boolean
  readonly at: number
}

/** What is to be recorded of it is, or its gateway stands still. */
const recordedWithinMs = 5_000

export class ToldLaws {
  readonly #isApplied: (id: ExecutionId) => boolean
  readonly #notApplied = new Set<ExecutionId>()
  readonly #unknown = new Set<ExecutionId>()

  readonly #given = new Set<ExecutionId>()
  /** Results that have arrived, and when. */
  readonly #got: Got[] = []
  readonly #askedAt = new Map<Asked, number>()
  /** What was said. */
  readonly seen = new Set<string>()
  #moments = 0

  constructor(isApplied: (id: ExecutionId) => boolean) {
    this.#isApplied = isApplied
  }

  asked(ask: Asked): void {
    this.#askedAt.set(ask, this.#moments++)
  }

  /** The result has arrived. */
  got(ask: Asked, id: ExecutionId, standing: Standing, at: number): void {
    const row = standing.rows.get(id)
    const isItsCaller = row?.caller === 'attached' && row.callerInstance === ask.instance
    // What another gateway has sent was taken for left, however long ago.
    const isTaken = row?.gatewayInstance !== ask.instance && row !== undefined && isOwn(ask, row)
    const hasLease = (standing.leases.get(ask.instance) ?? 0) > at
    const wasItsCaller = isItsCaller && hasLease && !isTaken
    this.#got.push({ id, ask, moment: this.#moments++, wasItsCaller, at })
  }

  /** `others` wait for answers beside this one. */
  told(ask: Asked, outcome: CallOutcome, standing: Standing, others: readonly Asked[]): void {
    const { executionId } = outcome
    if (executionId === null) return
    const row = standing.rows.get(executionId)
    const said = outcome.kind === 'failure' ? outcome.code : outcome.kind
    const detail = `${said} about ${executionId}, which is ${row?.state} and ${row?.caller}`
    this.seen.add(said)
    switch (outcome.kind) {
      case 'result':
        if (row && !isOwn(ask, row) && !isAnsweredBy(ask, row, standing))
          this.#isGivenOnce(ask, executionId, standing)
        this.#given.add(executionId)
        must('answer_was_applied', this.#isApplied(executionId), detail)
        must('answer_is_to_the_same', row?.argumentsDigest === ask.digest, detail)
        break
      case 'failure':
        // What only waited and is cancelled is the wait.
        if (ask.isOpen && !(ask.way.collects && ask.isCancelled)) this.#failed(outcome, row, detail)
        break
      case 'waiting':
        if (ask.isOpen && !ask.isCancelled)
          must('waiting_can_be_collected', this.#isCollectable(row, ask, others), detail)
    }
  }

  /**
   * Who asks after somebody had it wants it once more. Not looked at is what was given by a gateway that has stood still
   * for longer than its lease, or is gone: nobody can know that.
   */
  #isGivenOnce(ask: Asked, given: ExecutionId, { leases, decidedAt }: Standing): void {
    const isBefore = ({ id, ask: other, wasItsCaller, moment, at }: Got): boolean =>
      id === given &&
      other.wish !== ask.wish &&
      wasItsCaller &&
      other.gatewayLives &&
      (leases.get(other.instance) ?? 0) > decidedAt &&
      decidedAt < at + recordedWithinMs &&
      moment < (this.#askedAt.get(ask) ?? 0)
    must('an_outcome_is_given_once', !this.#got.some(isBefore), given)
  }

  over({ rows }: Standing): void {
    for (const id of this.#notApplied) must('refusal_was_not_applied', !this.#isApplied(id), id)
    for (const id of this.#unknown) {
      const state = rows.get(id)?.state
      must(
        'told_unknown_is_unknown',
        state === 'unknown' || state === 'resolved',
        `${id}: ${state}`,
      )
    }
  }

  /** Whoever comes again gets it: it is nobody's, or everybody's, or somebody else's already. */
  #isCollectable(row: Execution | undefined, ask: Asked, others: readonly Asked[]): boolean {
    if (!row || row.caller === null || row.state === 'resolved' || hasLeft(row)) return true
    if (row.callerInstance !== ask.instance || this.#given.has(row.id)) return true
    const mayHaveIt = ({ isAnswered, instance }: Asked): boolean =>
      !isAnswered && instance === ask.instance
    return others.some((other) => other !== ask && mayHaveIt(other))
  }

  #failed(
    { code, executionId: id }: Outcome<'failure'>,
    row: Execution | undefined,
    detail: string,
  ): void {
    if (id === null) return
    if (notApplied.has(code)) {
      must('refusal_was_not_applied', !this.#isApplied(id), detail)
      this.#notApplied.add(id)
    }
    if (code === 'outcome_unknown') this.#unknown.add(id)
    if (code.startsWith('resolved_'))
      must('told_resolution_is_the_word', code === `resolved_${row?.resolution?.outcome}`, detail)
    if (code === 'answered_by_earlier')
      must('told_answer_is_there', row !== undefined && known.has(row.state), detail)
    if (code === 'already_collected')
      must('told_collected_is_collected', row?.caller === 'collected', detail)
    if (code === 'approval_denied' || code === 'approval_expired')
      must('told_decision_is_the_decision', row?.code === code, detail)
  }
}

/** It comes again for what is on record as answered by that row: it is no new wish. */
function isAnsweredBy(ask: Asked, { id }: Execution, { rows }: Standing): boolean {
  return [...rows.values()].some(
    (own) => isOwn(ask, own) && own.code === 'answered_by_earlier' && own.notes['about'] === id,
  )
}
