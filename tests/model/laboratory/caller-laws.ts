/** Laws of whoever asks: what becomes of a caller that leaves, what an identical call gets, and what callers are told. */
import { type CallerState, collectWithinMs, type Execution } from '@sallyport/core'
import type { ExecutionId, InstanceId, SessionId } from '@sallyport/protocol'
import { type Commit, hasLeft, isBeforeBarrier, isIdentical, must, type Standing } from './law.ts'

/** A request, as the gateway at the other end of its stream sees it. */
export interface Asked {
  readonly instance: InstanceId
  readonly digest: string
  /** What it is asked for; another one may be for the same. */
  readonly wish: object
  readonly way: {
    readonly callId: string
    readonly session: { readonly id: SessionId; readonly chainId: SessionId }
    readonly collects?: ExecutionId | undefined
  }
  readonly isOpen: boolean
  readonly isAnswered: boolean
  readonly gatewayLives: boolean
  readonly isCancelled: boolean
}

const mayBecome: Readonly<Record<CallerState, readonly CallerState[]>> = {
  attached: ['detached', 'held_back', 'collected'],
  detached: ['attached'],
  held_back: ['attached', 'detached'],
  collected: [],
}

export class CallerLaws {
  readonly #asks: Asked[] = []
  /** When the transaction that is about to be committed was decided. */
  #open: readonly Asked[] = []
  #cancelled: readonly Asked[] = []

  readonly #lost = new Set<ExecutionId>()
  /** What happened to callers. */
  readonly seen = new Set<string>()

  asked(ask: Asked): void {
    this.#asks.push(ask)
  }

  /** Its answer has not arrived, whatever was recorded. */
  lost(id: ExecutionId): void {
    this.#lost.add(id)
  }

  decided(): void {
    this.#open = this.#asks.filter(({ isOpen, isCancelled }) => isOpen && !isCancelled)
    this.#cancelled = this.#asks.filter(({ isOpen, isCancelled }) => isOpen && isCancelled)
  }

  committed(commit: Commit): void {
    const { before, after } = commit
    for (const row of after.rows.values()) {
      const earlier = before.rows.get(row.id)
      if (earlier === row || row.access !== 'write') continue
      this.#callerMoved(earlier, row, after)
      if (earlier && earlier.caller !== row.caller)
        this.seen.add(`${earlier.caller} becomes ${row.caller}`)
      if (!earlier && row.state !== 'refused') meetsNothing(row, commit)
      if (earlier?.state !== 'dispatching' && row.state === 'dispatching') this.#passes(row, commit)
    }
  }

  #callerMoved(before: Execution | undefined, row: Execution, standing: Standing): void {
    const { id, caller, callerInstance, state } = row
    if (caller === 'collected') {
      const isSettled = !isBeforeBarrier(row) && state !== 'dispatching'
      must('only_what_is_settled_is_collected', isSettled, `${id} is ${state}`)
    }
    if (!before?.caller || !caller) return
    if (before.caller !== caller) {
      const isMove = mayBecome[before.caller].includes(caller) || this.#lost.has(id)
      must('callers_move_as_they_may', isMove, `${id}: ${before.caller} becomes ${caller}`)
    } else if (caller === 'attached' && before.callerInstance !== callerInstance) {
      // What a person has said is told to everybody until somebody has it.
      const mayChange = state === 'resolved' || !isThere(before, standing)
      must('who_waits_keeps_its_call', mayChange, id)
    }
  }

  #passes(row: Execution, commit: Commit): void {
    const { after } = commit
    this.seen.add(`${row.caller} passes`)
    const speakers = this.#open.filter((ask) => speaksFor(ask, row, after))
    if (row.isModern) must('no_barrier_for_a_caller_that_left', speakers.length > 0, row.id)
    const caller = commit.before.rows.get(row.id)?.callerInstance ?? row.callerInstance
    // Another request with its call id is its caller only once that is recorded.
    const [own] = this.#asks.filter((ask) => isOwn(ask, row))
    const isCancelled =
      own !== undefined &&
      this.#cancelled.includes(own) &&
      isAt(own, row) &&
      own.instance === caller
    must('no_barrier_for_what_was_cancelled', !isCancelled || speakers.length > 0, row.id)
    for (const other of after.rows.values()) {
      if (other.id >= row.id || !isIdentical(other, row)) continue
      const goesFirst =
        isAhead(other, after) && isBefore(other.id, commit) && this.#isWaitedFor(other)
      must('identical_ones_go_one_after_another', !goesFirst, `${row.id} before ${other.id}`)
    }
  }

  /** It may have been left and taken over in the same commit. */
  #isWaitedFor(row: Execution): boolean {
    const own = this.#asks.filter((ask) => isOwn(ask, row))
    return !row.isModern || own.length === 0 || own.some((ask) => this.#open.includes(ask))
  }
}

/** Somebody waits at the gateway that lets it pass: whoever asked first, or whoever took it over. */
function speaksFor(ask: Asked, row: Execution, { rows }: Standing): boolean {
  if (!isAt(ask, row)) return false
  const { collects } = ask.way
  if (collects) return collects === row.id || rows.get(collects)?.notes['about'] === row.id
  if (isOwn(ask, row)) return true
  const hasAnother = [...rows.values()].some((one) => isOwn(ask, one) && one.state !== 'refused')
  const { chainId } = ask.way.session
  return !hasAnother && ask.digest === row.argumentsDigest && chainId === row.chainId
}

function isAt({ instance }: Asked, { gatewayInstance }: Execution): boolean {
  return instance === gatewayInstance
}

/** Asked with the call id of that execution. */
export function isOwn({ way }: Asked, { callId, sessionId }: Execution): boolean {
  return !way.collects && way.callId === callId && way.session.id === sessionId
}

function isBefore(id: ExecutionId, { before }: Commit): boolean {
  const row = before.rows.get(id)
  return row !== undefined && isAhead(row, before)
}

/** Can go on without being taken over. */
function isAhead(row: Execution, standing: Standing): boolean {
  if (!isBeforeBarrier(row)) return false
  return !row.isModern || (row.caller === 'attached' && isThere(row, standing))
}

/** The gateway of its caller holds its lease. */
function isThere({ callerInstance }: Execution, { leases, decidedAt }: Standing): boolean {
  return callerInstance !== null && (leases.get(callerInstance) ?? 0) > decidedAt
}

/** A new execution, beside which there is nothing that its caller should have got instead. */
function meetsNothing(row: Execution, { before, after }: Commit): void {
  for (const other of after.rows.values()) {
    const earlier = before.rows.get(other.id)
    if (!earlier || other.id === row.id || !isIdentical(other, row)) continue
    const isUnknown = earlier.state === 'unknown' && other.state === 'unknown'
    must('an_unknown_refuses_what_is_identical', !isUnknown, row.id)
    const isTakeable = [earlier, other].every(
      (one) => hasLeft(one) && isWorthIt(one, after.decidedAt),
    )
    const isOurs = other.chainId === row.chainId
    must('who_left_is_taken_over', !isOurs || !isTakeable, `${row.id} beside ${other.id}`)
  }
}

function isWorthIt(row: Execution, now: number): boolean {
  if (isBeforeBarrier(row) || row.state === 'dispatching') return true
  const isAnswer =
    row.state === 'succeeded' || row.state === 'tool_error' || row.code === 'approval_denied'
  return isAnswer && now < (row.finishedAt ?? 0) + collectWithinMs
}
