/**
 * Calls that wait here: for a person, for an identical call, for the outcome of an execution that they took over. What is
 * true of them is in their rows; this only knows who waits, asks again when something may have changed, and lets go
 * when the profile's hold is over.
 */
import type { ExecutionId, InstanceId } from '@sallyport/protocol'
import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Store } from '../store.ts'
import { atMost } from './at-most.ts'
import type { GroupDecision } from './group.ts'
import type { GroupCommit } from './group-commit.ts'
import type { CallOutcome, CallRequest } from './ports.ts'
import { recordedOutcome } from './recorded-outcome.ts'
import { isAttachedAt, leaving } from './take-over.ts'
import { isSettled } from './twins.ts'
import type { BarrierDecision, Hold } from './verdict-of-barrier.ts'
import { stillWaits, wouldWaitForEver } from './waits-for.ts'

/** Whoever waits for the outcome of an execution. */
export interface Waiter {
  readonly request: CallRequest
  readonly answer: (outcome: CallOutcome) => void
  /** It is the execution of an earlier call, which the answer has to say. */
  readonly isEarlier: boolean
  /** It waits for the outcome of an execution; cancelling that wait cancels nothing else. */
  readonly onlyCollects?: boolean
}

export interface HoldsDeps {
  readonly group: Pick<GroupCommit, 'pass' | 'moveCaller'>
  readonly store: Store
  readonly bodies: BodySealer
  readonly gateway: InstanceId
  readonly now: () => number
  readonly report: (error: unknown, where: string) => void
  /** Its caller would rather it were not carried out, which is too late to say. */
  readonly wish: (row: Execution) => void
  /** It passed the barrier: its outcome will come. */
  readonly passed: (row: Execution, waiter: Waiter) => void
  /** The outcome of a row whose caller is attached here, with what its delivery says of it. */
  readonly told: (row: Execution, outcome: CallOutcome, waiter: Waiter) => void
}

interface Held extends Waiter {
  row: Execution
  readonly argumentsText: string
  on: Hold
  speaks: 'caller' | 'left' | 'cancelled'
  isStepping: boolean
  isDue: boolean
  /** Its hold ended while it was looked at. */
  isOver: boolean
  wake: NodeJS.Timeout | undefined
  readonly end: NodeJS.Timeout
  readonly unlisten: () => void
  /** Once: by a second time it may be somebody else's. */
  leaving: Promise<boolean> | undefined
}

/** An identical call of another gateway ends unseen here. */
const lookAgainMs = 1_000
const workerAgainMs = 500
const busyAgainMs = 10
/** The database's clock may be behind this one. */
const skewMs = 100
const longestMs = 2_147_483_647

export class Holds {
  readonly #deps: HoldsDeps
  readonly #held = new Map<ExecutionId, Held>()
  readonly #byKey = new Map<string, Set<Held>>()

  constructor(deps: HoldsDeps) {
    this.#deps = deps
  }

  get size(): number {
    return this.#held.size
  }

  has(id: ExecutionId): boolean {
    return this.#held.has(id)
  }

  /** Its caller is attached here by its row. Whoever waited for it here before has left. */
  hold(row: Execution, argumentsText: string, on: Hold, waiter: Waiter): void {
    this.#replace(this.#held.get(row.id))
    const held: Held = {
      ...waiter,
      row,
      argumentsText,
      on,
      speaks: 'caller',
      isStepping: false,
      isDue: false,
      isOver: false,
      wake: undefined,
      end: setTimeout(() => this.#over(held), Math.min(on.holdMs, longestMs)),
      unlisten: this.#listen(waiter, () => held),
      leaving: undefined,
    }
    this.#held.set(row.id, held)
    if (row.writeKey !== null) {
      const sameKey = this.#byKey.get(row.writeKey) ?? new Set()
      this.#byKey.set(row.writeKey, sameKey.add(held))
    }
    waiter.request.held?.()
    if (row.state === 'awaiting_approval') void this.#lookOnce(held)
    else this.#step(held)
    const { cancelled, left } = waiter.request
    if (cancelled?.aborted) this.#cancelled(held)
    else if (left?.aborted) void this.#left(held)
  }

  /** Whether that was recorded is not known, and its caller is told that it failed: nobody is there for it. */
  undo(decision: BarrierDecision, argumentsText: string, request: CallRequest): void {
    if (decision.kind === 'taken_over') void this.#leaveRow(decision)
    if (decision.kind !== 'held') return
    const { session, tool, callId, era } = request
    const cancelled = AbortSignal.abort()
    this.hold(
      decision.row,
      argumentsText,
      { ...decision.on, holdMs: longestMs },
      {
        request: { session, tool, callId, era, argumentsText: request.argumentsText, cancelled },
        answer: () => {},
        isEarlier: false,
      },
    )
  }

  /** Something was decided about these executions. Those that nobody waits for here are given back. */
  wake(ids: readonly ExecutionId[] | 'all'): ExecutionId[] {
    if (ids === 'all') {
      for (const held of this.#held.values()) this.#step(held)
      return []
    }
    return ids.filter((id) => {
      const held = this.#held.get(id)
      if (held) this.#step(held)
      return held === undefined
    })
  }

  /** An execution with this write key was settled, or its caller moved. */
  wakeIdentical(writeKey: string | null): void {
    const sameKey = writeKey === null ? undefined : this.#byKey.get(writeKey)
    if (sameKey) for (const held of [...sameKey]) this.#step(held)
  }

  /** Tells all that they are to come again; resolves when that is recorded, or after `ms`. */
  async letAllGo(ms: number): Promise<void> {
    await atMost(ms, Promise.all([...this.#held.values()].map((held) => this.#letGo(held))))
  }

  #listen({ request, onlyCollects }: Waiter, held: () => Held): () => void {
    const { cancelled, left } = request
    const onCancelled = (): void =>
      onlyCollects ? void this.#left(held()) : this.#cancelled(held())
    const onLeft = (): void => void this.#left(held())
    cancelled?.addEventListener('abort', onCancelled, { once: true })
    left?.addEventListener('abort', onLeft, { once: true })
    return () => {
      cancelled?.removeEventListener('abort', onCancelled)
      left?.removeEventListener('abort', onLeft)
    }
  }

  /** Nobody hears it, but whoever counts the calls in flight. */
  #replace(before: Held | undefined): void {
    if (!before) return
    this.#drop(before)
    before.answer(stillWaits(before))
  }

  #drop(held: Held): void {
    clearTimeout(held.wake)
    clearTimeout(held.end)
    held.unlisten()
    if (this.#held.get(held.row.id) === held) this.#held.delete(held.row.id)
    const { writeKey } = held.row
    const sameKey = writeKey === null ? undefined : this.#byKey.get(writeKey)
    if (sameKey?.delete(held) && sameKey.size === 0) this.#byKey.delete(writeKey ?? '')
  }

  #isHere(held: Held): boolean {
    return this.#held.get(held.row.id) === held
  }

  /** When to look again, whatever is heard until then. */
  #plan(held: Held): void {
    clearTimeout(held.wake)
    const { for: what, expiresAt } = held.on
    const untilExpiry = expiresAt === undefined ? longestMs : expiresAt - this.#deps.now() + 20
    const again = what === 'person' ? longestMs : what === 'worker' ? workerAgainMs : lookAgainMs
    this.#wakeIn(held, Math.max(skewMs, Math.min(again, untilExpiry, longestMs)))
  }

  #wakeIn(held: Held, ms: number): void {
    clearTimeout(held.wake)
    held.wake = setTimeout(() => this.#step(held), ms)
  }

  /** What was decided while its caller came was announced to nobody here. */
  async #lookOnce(held: Held): Promise<void> {
    this.#plan(held)
    const { store, report } = this.#deps
    try {
      const row = await store.executions.get(held.row.id)
      if (row?.state !== held.row.state && this.#isHere(held)) this.#step(held)
    } catch (thrown) {
      report(thrown, 'held call')
    }
  }

  /** One look at a time; what comes during one is looked at after it. */
  #step(held: Held): void {
    if (held.isStepping) {
      held.isDue = true
      return
    }
    held.isStepping = true
    held.isDue = false
    const { row, request, argumentsText } = held
    if (!isBeforeBarrier(row)) {
      void this.#follow(held).finally(() => this.#stepped(held))
      return
    }
    const holds = (): Held['speaks'] => held.speaks
    this.#deps.group.pass(
      { kind: 'continuation', request, row, argumentsText, holds },
      (decision) => {
        this.#decided(held, decision)
        this.#stepped(held)
      },
    )
  }

  #stepped(held: Held): void {
    held.isStepping = false
    if (!this.#isHere(held)) return
    if (held.isOver && held.speaks !== 'cancelled') void this.#letGo(held)
    else if (held.isDue) this.#step(held)
  }

  /** The look that is under way may be the one that lets it pass: on a slow machine there might never be another. */
  #over(held: Held): void {
    if (held.isStepping) held.isOver = true
    else void this.#letGo(held)
  }

  #decided(held: Held, decision: GroupDecision): void {
    switch (decision.kind) {
      case 'passed':
        this.#passed(held, decision.row)
        break
      case 'held':
        held.row = decision.row
        held.on = { ...decision.on, holdMs: held.on.holdMs }
        if (this.#isHere(held)) this.#plan(held)
        break
      case 'refused':
        this.#refused(held, decision)
        break
      case 'answered':
        this.#answered(held, decision.by)
        break
      case 'gone':
        this.#gone(held, decision.row)
        break
      case 'busy':
        if (this.#isHere(held)) this.#wakeIn(held, busyAgainMs)
        break
      default:
        // Whether it still waits or has passed after all, its row will tell.
        if (this.#isHere(held)) this.#wakeIn(held, workerAgainMs)
        else if (decision.kind === 'failed' && decision.perhaps?.kind === 'answered')
          void this.#leaveRow({ row: decision.perhaps.by })
    }
  }

  /** Whoever took it over while that was committed waits for its outcome; who was let go is told to come again. */
  #passed(held: Held, row: Execution): void {
    const present = this.#held.get(row.id)
    if (present) this.#drop(present)
    this.#deps.passed(row, present ?? { ...held, answer: () => {} })
  }

  /** Who was told to come again while that was committed takes nothing. */
  #answered(held: Held, by: Execution): void {
    if (!this.#isHere(held)) {
      void this.#leaveRow({ row: by })
      return
    }
    this.#drop(held)
    const { request, answer, argumentsText, on } = held
    this.hold(by, argumentsText, on, { request, answer, isEarlier: true })
  }

  #refused(held: Held, { row, code, about }: Extract<GroupDecision, { kind: 'refused' }>): void {
    this.#drop(held)
    const executionId = about?.id ?? row.id
    const outcome = { kind: 'failure', executionId, code } as const
    const isAnsweredLater = code === 'answered_by_earlier' && about && !isSettled(about)
    if (about?.state === 'resolved') this.#deps.told(about, outcome, held)
    else held.answer(isAnsweredLater ? { kind: 'waiting', executionId, for: 'answer' } : outcome)
  }

  /** Somebody else settled it or speaks for it now. */
  #gone(held: Held, row: Execution | undefined): void {
    if (!this.#isHere(held)) return
    const isElsewhere =
      row === undefined || (isBeforeBarrier(row) && row.callerInstance !== this.#deps.gateway)
    if (isElsewhere || (isBeforeBarrier(row) && held.speaks === 'left')) {
      this.#drop(held)
      held.answer({ kind: 'failure', executionId: held.row.id, code: 'call_in_flight' })
      return
    }
    held.row = row
    held.isDue = true
    if (held.speaks === 'cancelled') this.#deps.wish(row)
  }

  async #follow(held: Held): Promise<void> {
    const ended = await recordedOutcome(held.row.id, this.#deps)
    if (!this.#isHere(held)) return
    if (ended && 'outcome' in ended) {
      this.#drop(held)
      this.#deps.told(ended.row, ended.outcome, held)
    } else if (ended && this.#isForNobody(ended.by)) this.#answered(held, ended.by)
    else this.#wakeIn(held, lookAgainMs)
  }

  /** Taken over for this gateway, which never heard of it: that commit had no clear end. */
  #isForNobody(row: Execution): boolean {
    return isAttachedAt(row, this.#deps.gateway) && !this.has(row.id) && isBeforeBarrier(row)
  }

  #cancelled(held: Held): void {
    held.speaks = 'cancelled'
    if (!isBeforeBarrier(held.row)) this.#deps.wish(held.row)
    this.#step(held)
  }

  /** In the eras before 2026-07-28 the call goes on, and may still be cancelled by name. */
  async #left(held: Held): Promise<void> {
    if (!this.#isHere(held) || held.speaks !== 'caller') return
    if (wouldWaitForEver(held.row) && held.onlyCollects !== true) {
      this.#cancelled(held)
      return
    }
    held.speaks = 'left'
    const isTakenBack = held.row.isModern || held.onlyCollects === true
    if (isTakenBack) this.#drop(held)
    await this.#leave(held)
    if (!isTakenBack) return
    // Heard by whoever asks with the same call id: what was sent is not cancelled.
    const executionId = held.row.id
    if (isBeforeBarrier(held.row))
      held.answer({ kind: 'failure', executionId, code: 'call_cancelled' })
    else held.answer(stillWaits(held))
  }

  async #letGo(held: Held): Promise<void> {
    // Told once it is recorded; until then a cancel that is forgotten would be none.
    if (held.speaks === 'cancelled') return
    this.#drop(held)
    held.speaks = 'left'
    // An identical call that comes at once must find that this one has left.
    const hasLeft = await this.#leave(held)
    const ended = hasLeft ? undefined : await recordedOutcome(held.row.id, this.#deps)
    if (ended && 'outcome' in ended) this.#deps.told(ended.row, ended.outcome, held)
    else {
      if (ended && this.#isForNobody(ended.by)) void this.#leaveRow({ row: ended.by })
      held.answer(stillWaits(held))
    }
  }

  #leave(held: Held): Promise<boolean> {
    held.leaving ??= this.#leaveRow(held)
    return held.leaving
  }

  /** Whether it was this gateway's caller until now. */
  async #leaveRow({ row }: Pick<Held, 'row'>): Promise<boolean> {
    const { group, gateway } = this.#deps
    if (!isAttachedAt(row, gateway)) return false
    const moved = await group.moveCaller(leaving(row, gateway))
    this.wakeIdentical(row.writeKey)
    return moved
  }
}
