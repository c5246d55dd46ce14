/**
 * The one door for calls: admits (arguments, mode), takes the call to the barrier, waits for a person and for the worker's
 * verdict, settles the row and answers. There is no second path to an upstream.
 */
import {
  type ErrorCode,
  type ExecutionId,
  type IdSource,
  type InstanceId,
  type IntentId,
  isId,
  Register,
  type SessionId,
  toSallyportError,
} from '@sallyport/protocol'
import { digestBytes, type ProgressHead, type ResultHead } from '@sallyport/protocol/node'
import type { BodySealer } from '../body/body.ts'
import type { Execution, ExecutionState } from '../execution/execution.ts'
import type { CallerChange } from '../execution/execution-store.ts'
import type { Store } from '../store.ts'
import { callOfRow } from './call-of-row.ts'
import { refusedRow } from './decide-arrival.ts'
import { executionRow } from './execution-row.ts'
import type { GroupDecision } from './group.ts'
import type { GroupCommit } from './group-commit.ts'
import { Holds, type Waiter } from './holds.ts'
import { LateAnswers } from './late-answers.ts'
import { type LiveCall, LiveCalls, leavesBefore } from './live-calls.ts'
import type {
  CallOutcome,
  CallRequest,
  Calls,
  CollectRequest,
  Delivery,
  WorkerPort,
} from './ports.ts'
import { resultBody, settlementOf, toOutcome } from './settlement.ts'
import { aboutOf, storedOutcome } from './stored-outcome.ts'
import { takeOver } from './take-over.ts'
import { tellOutcome } from './tell-outcome.ts'
import type { Toolsets } from './toolset.ts'
import { type Outcome, outcomeOf } from './verdict.ts'
import type { Hold } from './verdict-of-barrier.ts'
import { whenAborted } from './when-aborted.ts'

interface Waiting extends Waiter {
  readonly row: Execution
}

export interface CallDeskDeps {
  readonly group: GroupCommit
  readonly store: Store
  readonly bodies: BodySealer
  readonly toolsets: Toolsets
  readonly worker: WorkerPort
  readonly ids: IdSource
  readonly now: () => number
  readonly gateway: InstanceId
  readonly report: (error: unknown, where: string) => void
  /** Told once for each call that ends, whoever ended it. */
  readonly measure?: (outcome: {
    state: ExecutionState
    code: ErrorCode | null
    ms: number
  }) => void
}

export class CallDesk implements Calls {
  readonly holds: Holds
  readonly #deps: CallDeskDeps
  readonly #waiting = new Register<IntentId, Waiting>()
  readonly #live: LiveCalls
  readonly #late: LateAnswers
  /** Whose outcome is known and being recorded: what is believed about them meanwhile must not get there first. */
  readonly #settling = new Register<IntentId, true>()
  #isDraining = false

  constructor(deps: CallDeskDeps) {
    this.#deps = deps
    this.#live = new LiveCalls(deps.now)
    this.#late = new LateAnswers(deps.store, deps.now)
    this.holds = new Holds({
      ...deps,
      wish: ({ intentId }) => intentId !== null && deps.worker.cancel(intentId),
      passed: (row, waiter) => this.passed(row, waiter),
      told: (row, outcome, waiter) => this.#tell(row, outcome, waiter),
    })
  }

  async call(request: CallRequest): Promise<CallOutcome> {
    return this.#guard('call', () => this.#admit(request))
  }

  async collect(request: CollectRequest): Promise<CallOutcome> {
    return this.#guard('collect', () => this.#collect(request))
  }

  async #guard(where: string, work: () => Promise<CallOutcome>): Promise<CallOutcome> {
    if (this.#isDraining) return { kind: 'failure', executionId: null, code: 'shutting_down' }
    try {
      return await work()
    } catch (thrown) {
      this.#deps.report(thrown, where)
      return { kind: 'failure', executionId: null, code: toSallyportError(thrown).code }
    }
  }

  /** An execution that waited passed the barrier of this gateway. */
  passed(row: Execution, waiter: Waiter): void {
    this.#await({ ...waiter, row }, true)
  }

  /** Calls that are waiting for a verdict, for whoever watches deadlines. */
  waitingRows(): Execution[] {
    return this.#waiting.values().map(({ row }) => row)
  }

  get inFlight(): number {
    return this.#live.size
  }

  /** Refuses new calls, tells those that wait for a person to come again, and resolves when the last one is answered, or after `ms`. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true
    const settled = this.#live.settled(ms)
    await Promise.all([this.holds.letAllGo(ms), settled])
  }

  /** Resolves when no call of the session is in flight, or after `ms`. */
  async settleSession(id: SessionId, ms = 10_000): Promise<void> {
    await this.#live.settled(ms, id)
    await this.#deps.group.caughtUp()
  }

  onProgress(head: ProgressHead): void {
    this.#waiting.get(head.intent as IntentId)?.request.progress?.(head)
  }

  /** A verdict of the worker by its own connection. False for repeated and late ones, which change nothing. */
  onResult(head: ResultHead, raw: Buffer): boolean {
    const waiting = this.#waiting.get(head.intent as IntentId)
    if (!waiting) return false
    this.#settle(waiting.row, outcomeOf(head, waiting.row.access ?? 'write'), waiting, head, raw)
    return true
  }

  /** An answer that came after its call was given up. */
  onLate(head: ResultHead): void {
    this.#late.keep(head).catch((error) => this.#deps.report(error, 'late answer'))
  }

  /** Recovery found out what became of a row, or that nobody can say. */
  onRecovered(row: Execution, outcome: Outcome, head?: ResultHead, raw?: Buffer): void {
    if (row.intentId !== null && this.#settling.has(row.intentId)) return
    const known = row.intentId ? this.#waiting.get(row.intentId) : undefined
    // Another gateway may have found out more: whoever waits for a write is told what is on record.
    const waits = row.access === 'write' && known !== undefined && !this.holds.has(row.id)
    this.#settle(known?.row ?? row, outcome, waits ? undefined : known, head, raw)
    if (waits) this.holds.hold(known.row, '', untilRecorded, known)
  }

  async #admit(request: CallRequest): Promise<CallOutcome> {
    const { session, tool, callId, isCallIdOurs: isOnce = false } = request
    const id = this.#deps.ids('execution')
    const arguments_ = tool.effective(request.argumentsText)
    if (!arguments_.ok) {
      const { code, field, detail } = arguments_
      this.#refuse(request, id, code, field)
      return { kind: 'failure', executionId: id, code, field, detail }
    }
    const digest = digestBytes(arguments_.text)
    const asked = `${tool.binding.id} ${digest}`
    const twin = isOnce ? undefined : this.#live.find(session.id, callId)
    if (twin && twin.digest !== asked)
      return { kind: 'failure', executionId: null, code: 'call_id_reused' }
    if (twin) return this.#join(twin, request)
    const { gateway, now } = this.#deps
    const row = executionRow(request, id, digest, { gateway, now: now() })
    const outcome = this.#dispatch(request, row, arguments_.text)
    const { left } = request
    this.#live.keep(session.id, callId, { digest: asked, id, outcome, left, isOnce })
    return outcome
  }

  /** The same call id: the same execution. Somebody who had left, or whose answer was lost, is its caller again. */
  async #join({ id, outcome, left }: LiveCall, request: CallRequest): Promise<CallOutcome> {
    if (request.tool.binding.access !== 'write') return outcome
    if (id && !(await leavesBefore(outcome, left))) return outcome
    const { gateway, group, store } = this.#deps
    const of = id ?? (await outcome).executionId
    if (of === null) return outcome
    // That it left is recorded before it is taken, or a later record would take it away again.
    if (id)
      await group.moveCaller({ id, from: ['attached'], of: gateway, to: 'detached', by: gateway })
    else await group.recorded(of, gateway)
    const seen = await store.executions.get(of)
    const taken = seen && (await takeOver(this.#deps, seen, request))
    return taken?.kind === 'attached' ? this.#holdAgain(taken.row, request, false) : outcome
  }

  #dispatch(request: CallRequest, row: Execution, argumentsText: string): Promise<CallOutcome> {
    return new Promise((answer) => {
      const waiter: Waiter = { request, answer, isEarlier: false }
      const again = (): void =>
        this.#deps.group.pass({ kind: 'arrival', request, row, argumentsText }, (decision) => {
          if (decision.kind === 'busy') setTimeout(again, busyAgainMs)
          else this.#decided(decision, row, argumentsText, waiter)
        })
      again()
    })
  }

  #decided(decision: GroupDecision, row: Execution, argumentsText: string, waiter: Waiter): void {
    const { answer, request } = waiter
    switch (decision.kind) {
      case 'passed':
        this.#await({ ...waiter, row: decision.row }, false)
        break
      case 'held':
        this.holds.hold(decision.row, argumentsText, decision.on, waiter)
        break
      case 'taken_over':
        this.holds.hold(decision.row, argumentsText, decision.on, { ...waiter, isEarlier: true })
        break
      case 'refused':
        this.#measure(decision.row.state, decision.code, row.arrivedAt)
        this.#refused(decision, waiter)
        break
      case 'duplicate':
        void this.#duplicate(request, row).then(answer)
        break
      case 'failed':
        if (decision.perhaps) this.holds.undo(decision.perhaps, argumentsText, request)
        answer({ kind: 'failure', executionId: null, code: decision.code })
        break
      default:
        // An arrival is never `gone` or `answered`.
        answer({ kind: 'failure', executionId: null, code: 'internal' })
    }
  }

  #refused(
    { row, code, about }: Extract<GroupDecision, { kind: 'refused' }>,
    waiter: Waiter,
  ): void {
    const outcome = { kind: 'failure', executionId: about?.id ?? row.id, code } as const
    if (about?.state === 'resolved') this.#tell(about, outcome, waiter)
    else waiter.answer(outcome)
  }

  /** `wasHeld`: if its caller has left meanwhile, that is recorded, and another may be its caller by now. */
  #await(waiting: Waiting, wasHeld: boolean): void {
    const { row, request, onlyCollects = false } = waiting
    const id = row.intentId
    if (id === null) return
    this.#waiting.set(id, waiting)
    const { cancelled, left } = request
    const isRecorded = wasHeld && (left?.aborted || (onlyCollects && cancelled?.aborted))
    const wish = (): void => {
      if (this.#waiting.has(id)) this.#deps.worker.cancel(id)
    }
    const leave = (): void => {
      if (row.isModern && !onlyCollects) wish()
      if (this.#waiting.has(id) && !isRecorded)
        this.#moveCaller(row, { from: ['attached'], to: 'detached' })
    }
    whenAborted(cancelled, onlyCollects ? leave : wish)
    whenAborted(left, leave)
  }

  /** Another process, or this one before a restart, recorded this callId. */
  async #duplicate(request: CallRequest, row: Execution): Promise<CallOutcome> {
    const { store, bodies, report } = this.#deps
    try {
      const first = await store.executions.byCall(request.session.id, request.callId)
      const isSame =
        first?.argumentsDigest === row.argumentsDigest && first.bindingId === row.bindingId
      if (first === undefined || !isSame)
        return { kind: 'failure', executionId: first?.id ?? null, code: 'call_id_reused' }
      if (first.access === 'write') return await this.#takeOver(first.id, request, false)
      const stored = await storedOutcome(first, store, bodies)
      return stored ?? { kind: 'failure', executionId: first.id, code: 'call_in_flight' }
    } catch (thrown) {
      report(thrown, 'duplicate call')
      return { kind: 'failure', executionId: null, code: toSallyportError(thrown).code }
    }
  }

  async #collect(request: CollectRequest): Promise<CallOutcome> {
    const { executionId: id, session } = request
    const row = isId('execution', id) ? await this.#deps.store.executions.get(id) : undefined
    if (row?.chainId !== session.chainId || row.ownerId !== session.ownerId)
      return { kind: 'failure', executionId: null, code: 'not_found' }
    return this.#takeOver(row.id, request, true)
  }

  /** The outcome of an execution that somebody comes for by its id (`onlyCollects`) or with its call id. */
  async #takeOver(
    id: ExecutionId,
    caller: CollectRequest | CallRequest,
    onlyCollects: boolean,
  ): Promise<CallOutcome> {
    const { store, bodies } = this.#deps
    const seen = await store.executions.get(id)
    if (!seen) return { kind: 'failure', executionId: null, code: 'not_found' }
    const instead = seen.code === 'answered_by_earlier' ? aboutOf(seen) : undefined
    if (instead !== undefined) return this.#takeOver(instead, caller, onlyCollects)
    const taken = await takeOver(this.#deps, seen, caller)
    switch (taken.kind) {
      case 'in_use':
        return { kind: 'failure', executionId: id, code: 'call_in_flight' }
      case 'unknown':
        return { kind: 'failure', executionId: id, code: 'outcome_unknown' }
      case 'collected': {
        if (onlyCollects && taken.row.caller === 'collected')
          return { kind: 'failure', executionId: id, code: 'already_collected' }
        const stored = await storedOutcome(taken.row, store, bodies)
        return stored ?? { kind: 'failure', executionId: id, code: 'call_in_flight' }
      }
      case 'attached':
        return this.#holdAgain(taken.row, caller, onlyCollects)
    }
  }

  async #holdAgain(
    row: Execution,
    caller: CollectRequest | CallRequest,
    onlyCollects: boolean,
  ): Promise<CallOutcome> {
    const call = await callOfRow(row, caller, this.#deps)
    if (!call) return { kind: 'failure', executionId: row.id, code: 'outcome_not_kept' }
    return new Promise((answer) => {
      const waiter: Waiter = { request: call.request, answer, isEarlier: true, onlyCollects }
      this.holds.hold(row, call.argumentsText, call.on, waiter)
    })
  }

  #settle(
    row: Execution,
    outcome: Outcome,
    waiter: Waiter | undefined,
    head?: ResultHead,
    raw?: Buffer,
  ): void {
    const { group, now, bodies } = this.#deps
    const { intentId, writeKey } = row
    if (intentId !== null) {
      this.#waiting.delete(intentId)
      this.#settling.set(intentId, true)
    }
    this.#measure(outcome.state, outcome.code, row.arrivedAt)
    if (outcome.state === 'unknown') this.#late.expect(row)
    const settlement = settlementOf(row, outcome, head, now())
    const body = resultBody(row, outcome, raw, { bodies, now: now() })
    const record = { settlement, writeKey, body }
    void group.settle(record, intentId, row.access === 'write').then(() => {
      if (intentId !== null) this.#settling.delete(intentId)
      this.holds.wakeIdentical(writeKey)
    })
    if (!waiter) return
    const told: Execution = { ...row, state: outcome.state, finishedAt: now() }
    this.#tell(told, toOutcome(row, outcome, head, raw), waiter)
  }

  #tell(row: Execution, outcome: CallOutcome, waiter: Waiter): void {
    tellOutcome(row, outcome, waiter, this.#deliveryOf(row), this.#deps.now())
  }

  #deliveryOf(row: Execution): Delivery {
    const at = this.#deps.now
    return {
      collected: () => this.#moveCaller(row, { from: ['attached'], to: 'collected', at: at() }),
      lost: () => this.#moveCaller(row, { from: ['attached', 'collected'], to: 'detached' }),
    }
  }

  #moveCaller(row: Execution, change: Pick<CallerChange, 'from' | 'to' | 'at'>): void {
    const { group, gateway } = this.#deps
    if (row.caller === null) return
    void group
      .moveCaller({ ...change, id: row.id, of: gateway, by: gateway })
      .then(() => this.holds.wakeIdentical(row.writeKey))
  }

  #refuse(request: CallRequest, id: ExecutionId, code: ErrorCode, field?: string): void {
    const { gateway, group, now } = this.#deps
    const row = executionRow(request, id, null, { gateway, now: now() })
    group.refuse(refusedRow(row, code, now(), field))
    this.#measure('refused', code, row.arrivedAt)
  }

  #measure(state: ExecutionState, code: ErrorCode | null, arrivedAt: number): void {
    this.#deps.measure?.({ state, code, ms: this.#deps.now() - arrivedAt })
  }
}

const busyAgainMs = 10
const untilRecorded: Hold = { for: 'identical_call', holdMs: 30_000, expiresAt: undefined }
