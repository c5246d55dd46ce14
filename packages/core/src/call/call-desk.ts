/**
 * The one door for calls: admits (arguments, mode), takes the call to the barrier, waits for the worker's verdict,
 * settles the row and answers. There is no second path to an upstream.
 */
import {
  type ErrorCode,
  type ExecutionId,
  type IdSource,
  type InstanceId,
  type IntentId,
  type SessionId,
  toSallyportError,
} from '@sallyport/protocol'
import {
  type Digest,
  digestBytes,
  digestOf,
  digestVersion,
  type ProgressHead,
  type ResultHead,
} from '@sallyport/protocol/node'
import type { Execution, ExecutionState } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'
import type { Reads } from '../store.ts'
import { refusedRow } from './barrier.ts'
import type { GroupCommit } from './group-commit.ts'
import type { CallOutcome, CallRequest, Calls, WorkerPort } from './ports.ts'
import { RecentOutcomes } from './recent-outcomes.ts'
import { evidenceOf, type Outcome, outcomeOf } from './verdict.ts'

interface Waiting {
  readonly row: Execution
  readonly request: CallRequest | undefined
  readonly answer: (outcome: CallOutcome) => void
}

interface Live {
  /** Which tool with which arguments: the same call id for anything else is another call. */
  readonly digest: string
  readonly outcome: Promise<CallOutcome>
}

export interface CallDeskDeps {
  readonly group: GroupCommit
  readonly reads: Reads
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
  readonly #deps: CallDeskDeps
  readonly #waiting = new Map<IntentId, Waiting>()
  readonly #live = new Map<string, Live>()
  readonly #liveOf = new Map<SessionId, Set<Promise<unknown>>>()
  readonly #recent: RecentOutcomes
  /** Whose outcome is known and being recorded: what is believed about them meanwhile must not get there first. */
  readonly #settling = new Set<IntentId>()
  #isDraining = false

  constructor(deps: CallDeskDeps) {
    this.#deps = deps
    this.#recent = new RecentOutcomes(deps.now)
  }

  async call(request: CallRequest): Promise<CallOutcome> {
    if (this.#isDraining) return { kind: 'failure', executionId: null, code: 'shutting_down' }
    try {
      return await this.#admit(request)
    } catch (thrown) {
      this.#deps.report(thrown, 'call')
      return { kind: 'failure', executionId: null, code: toSallyportError(thrown).code }
    }
  }

  /** Calls that are waiting for a verdict, for whoever watches deadlines. */
  waitingRows(): Execution[] {
    return [...this.#waiting.values()].map(({ row }) => row)
  }

  get inFlight(): number {
    return this.#live.size
  }

  /** Refuses new calls and resolves when the last one is answered, or after `ms`. */
  async drain(ms: number): Promise<void> {
    this.#isDraining = true
    await within(ms, Promise.allSettled([...this.#live.values()].map(({ outcome }) => outcome)))
  }

  /** Resolves when no call of the session is in flight, or after `ms`. */
  async settleSession(id: SessionId, ms = 10_000): Promise<void> {
    await within(ms, Promise.allSettled([...(this.#liveOf.get(id) ?? [])]))
  }

  onProgress(head: ProgressHead): void {
    this.#waiting.get(head.intent as IntentId)?.request?.progress?.(head)
  }

  /** A verdict of the worker by its own connection. False for repeated and late ones, which change nothing. */
  onResult(head: ResultHead, raw: Buffer): boolean {
    const waiting = this.#waiting.get(head.intent as IntentId)
    if (!waiting) return false
    this.#settle(waiting, outcomeOf(head, waiting.row.access ?? 'write'), head, raw)
    return true
  }

  /** Recovery found out what became of a row, or that nobody can say. */
  onRecovered(row: Execution, outcome: Outcome, head?: ResultHead, raw?: Buffer): void {
    if (row.intentId !== null && this.#settling.has(row.intentId)) return
    const known = row.intentId ? this.#waiting.get(row.intentId) : undefined
    this.#settle(known ?? { row, request: undefined, answer: () => {} }, outcome, head, raw)
  }

  async #admit(request: CallRequest): Promise<CallOutcome> {
    const { session, tool, callId } = request
    const id = this.#deps.ids('execution')
    const arguments_ = tool.effective(request.argumentsText)
    if (!arguments_.ok) {
      const { code, field, detail } = arguments_
      this.#refuse(request, id, null, code, field)
      return { kind: 'failure', executionId: id, code, field, detail }
    }
    const digest = digestBytes(arguments_.text)
    const key = `${session.id} ${callId}`
    const twin = this.#live.get(key) ?? this.#recent.get(key)
    const asked = `${tool.binding.id} ${digest}`
    if (twin) {
      if (twin.digest === asked) return twin.outcome
      return { kind: 'failure', executionId: null, code: 'call_id_reused' }
    }
    if (tool.binding.mode === 'write_with_approval') {
      this.#refuse(request, id, digest, 'approval_not_available')
      return { kind: 'failure', executionId: id, code: 'approval_not_available' }
    }
    const outcome = this.#dispatch(request, this.#row(request, id, digest), arguments_.text)
    this.#keepLive(key, session.id, id, { digest: asked, outcome })
    return outcome
  }

  #keepLive(key: string, session: SessionId, id: ExecutionId, live: Live): void {
    this.#live.set(key, live)
    const ofSession = this.#liveOf.get(session) ?? new Set()
    this.#liveOf.set(session, ofSession.add(live.outcome))
    void live.outcome.then((outcome) => {
      this.#live.delete(key)
      ofSession.delete(live.outcome)
      if (ofSession.size === 0) this.#liveOf.delete(session)
      // What was told about another execution of this call id is not its outcome.
      if (outcome.executionId === id) this.#recent.keep(key, live.digest, outcome)
    })
  }

  #dispatch(request: CallRequest, row: Execution, argumentsText: string): Promise<CallOutcome> {
    return new Promise((answer) => {
      this.#deps.group.pass({ request, row, argumentsText }, (decision) => {
        switch (decision.kind) {
          case 'passed':
            this.#await({ row: decision.row, request, answer })
            break
          case 'refused':
            this.#measure(decision.row.state, decision.code, row.arrivedAt)
            answer({ kind: 'failure', executionId: row.id, code: decision.code })
            break
          case 'duplicate':
            void this.#duplicate(request, row).then(answer)
            break
          case 'failed':
            answer({ kind: 'failure', executionId: null, code: decision.code })
            break
        }
      })
    })
  }

  #await(waiting: Waiting): void {
    const id = waiting.row.intentId
    if (id === null) return
    this.#waiting.set(id, waiting)
    const signal = waiting.request?.signal
    const wish = (): void => {
      if (this.#waiting.has(id)) this.#deps.worker.cancel(id)
    }
    // While the barrier was committed nobody listened.
    if (signal?.aborted) wish()
    else signal?.addEventListener('abort', wish)
  }

  /** Another process, or this one before a restart, recorded this callId. Its answer is not here. */
  async #duplicate(request: CallRequest, row: Execution): Promise<CallOutcome> {
    const { reads, report } = this.#deps
    try {
      const first = await reads.executions.byCall(request.session.id, request.callId)
      const isSame =
        first?.argumentsDigest === row.argumentsDigest && first.bindingId === row.bindingId
      if (first === undefined || !isSame)
        return { kind: 'failure', executionId: first?.id ?? null, code: 'call_id_reused' }
      const code =
        first.state === 'dispatching'
          ? 'call_in_flight'
          : first.state === 'succeeded' || first.state === 'tool_error'
            ? 'outcome_not_kept'
            : (first.code ?? 'outcome_not_kept')
      return { kind: 'failure', executionId: first.id, code }
    } catch (thrown) {
      report(thrown, 'duplicate call')
      return { kind: 'failure', executionId: null, code: toSallyportError(thrown).code }
    }
  }

  #settle(waiting: Waiting, outcome: Outcome, head?: ResultHead, raw?: Buffer): void {
    const { row, answer } = waiting
    const { intentId } = row
    if (intentId !== null) {
      this.#waiting.delete(intentId)
      this.#settling.add(intentId)
    }
    const settlement: Settlement = {
      id: row.id,
      from: ['dispatching'],
      state: outcome.state,
      code: outcome.code,
      finishedAt: this.#deps.now(),
      ...(head?.digest === undefined ? {} : { resultDigest: head.digest }),
      ...(head?.bytes === undefined ? {} : { resultBytes: head.bytes }),
      ...(head?.tookMs === undefined ? {} : { tookMs: head.tookMs }),
      ...(head ? { notes: evidenceOf(head) } : {}),
    }
    this.#measure(outcome.state, outcome.code, row.arrivedAt)
    const settled = this.#deps.group.settle(settlement, intentId, row.access === 'write')
    void settled.then(() => intentId !== null && this.#settling.delete(intentId))
    answer(toOutcome(row.id, outcome, head, raw))
  }

  #refuse(
    request: CallRequest,
    id: ExecutionId,
    digest: Digest | null,
    code: ErrorCode,
    field?: string,
  ): void {
    const row = refusedRow(this.#row(request, id, digest), code, this.#deps.now(), field)
    this.#deps.group.refuse(row)
    this.#measure('refused', code, row.arrivedAt)
  }

  #measure(state: ExecutionState, code: ErrorCode | null, arrivedAt: number): void {
    this.#deps.measure?.({ state, code, ms: this.#deps.now() - arrivedAt })
  }

  #row(request: CallRequest, id: ExecutionId, argumentsDigest: Digest | null): Execution {
    const { session, tool, callId } = request
    const { binding } = tool
    const isWrite = binding.access === 'write'
    return {
      id,
      sessionId: session.id,
      ownerId: session.ownerId,
      callId,
      state: 'refused',
      code: null,
      field: null,
      connectionId: binding.connectionId,
      connectionName: binding.connectionName,
      tool: binding.tool,
      mode: binding.mode,
      access: binding.access,
      bindingId: binding.id,
      bindingHash: binding.hash,
      grantId: binding.grantId,
      argumentsDigest,
      digestVersion,
      writeKey:
        isWrite && argumentsDigest
          ? digestOf([session.ownerId, binding.connectionId, binding.tool, argumentsDigest])
          : null,
      intentId: null,
      intentDigest: null,
      gatewayInstance: this.#deps.gateway,
      workerInstance: null,
      notAfter: null,
      intentIssuedAt: null,
      arrivedAt: this.#deps.now(),
      barrierAt: null,
      finishedAt: null,
      resultDigest: null,
      resultBytes: null,
      tookMs: null,
      notes: {},
      sequence: 1,
    }
  }
}

function toOutcome(
  id: ExecutionId,
  outcome: Outcome,
  head?: ResultHead,
  raw?: Buffer,
): CallOutcome {
  if (outcome.code !== null) {
    const isRpcError = outcome.code === 'upstream_error' && raw !== undefined
    return {
      kind: 'failure',
      executionId: id,
      code: outcome.code,
      ...(isRpcError ? { rpcError: raw } : {}),
    }
  }
  if (raw === undefined || head?.withheld)
    return { kind: 'failure', executionId: id, code: 'outcome_not_kept' }
  return { kind: 'result', executionId: id, result: raw, isError: outcome.state === 'tool_error' }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms)
  })
  await Promise.race([work, late])
  clearTimeout(timer)
}
