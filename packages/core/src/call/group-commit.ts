/**
 * Group commit: what arrived in one turn of the event loop shares one transaction; what nobody waits for waits a moment for
 * company. Outcomes of writes go first, then refusals, then the barrier; its orders are signed and sent while the rest is
 * recorded and flushed, and become valid only by `commit`.
 */
import {
  type ErrorCode,
  type ExecutionId,
  type InstanceId,
  type IntentId,
  type SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import { batchOf } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { CallerChange } from '../execution/execution-store.ts'
import { leaseMs } from '../instance/instance.ts'
import type { Journal, PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { atMost } from './at-most.ts'
import { passBarrier } from './barrier.ts'
import {
  type Batch,
  eachAlone,
  type Group,
  isFirst,
  type Moved,
  type PendingEntry,
  type PendingMove,
  type PendingSettlement,
  type Renewal,
} from './group.ts'
import type { WorkerPort } from './ports.ts'
import {
  holdUnknownKeys,
  type OutcomeToRecord,
  recordOutcomes,
  recordRefusals,
} from './record-outcomes.ts'
import type { BarrierDeps, Entry } from './scene.ts'
import { UnsettledWrites } from './unsettled.ts'
import type { BarrierDecision } from './verdict-of-barrier.ts'

export interface GroupCommitDeps extends Omit<BarrierDeps, 'worker'> {
  readonly journal: Journal
  readonly worker: WorkerPort
  /** Rows that passed but whose commit is unclear: the worker was told to drop them, and must be asked. */
  readonly suspect: (rows: readonly Execution[]) => void
  readonly report: (error: SallyportError, where: string) => void
  readonly measure?: (groupSize: number) => void
}

const groupLimit = 256
/** Two transactions overlap, so that a read does not wait for the flush of a write before it. */
const runningLimit = 2
/** So long what nobody waits for waits for company: a commit costs as much as all else that a lone call does. */
const companyMs = 5
const retryMs = 250
const settleAttempts = 5

export class GroupCommit {
  readonly #deps: GroupCommitDeps
  #entries: PendingEntry[] = []
  #refusals: Execution[] = []
  #settlements: PendingSettlement[] = []
  #moves: PendingMove[] = []
  /** Of a read nobody asks where its caller is. */
  readonly #unsettled = new UnsettledWrites()
  #renewal: Renewal | undefined
  /** Outcomes of writes that are committed but perhaps not flushed: the worker still keeps their results. */
  #unflushed: IntentId[] = []
  #running = 0
  /** Groups of outcomes that wait before they are tried again. */
  #delayed = 0
  #scheduled = false
  #lonely: NodeJS.Timeout | undefined
  #idle: (() => void)[] = []
  readonly #runs = new Set<Promise<void>>()
  #asking: (() => void)[] = []

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps
  }

  /**
   * Takes a call to the barrier. Before `passed` is told, nothing of it was acted on. After `failed` an execution that
   * waited may still wait, or have passed: whoever asks again learns it.
   */
  pass(entry: Entry, decided: PendingEntry['decided']): void {
    this.#entries.push({ entry, decided })
    this.#schedule()
  }

  /** Records a refusal. Not waited for: nothing depends on it. */
  refuse(row: Execution): void {
    this.#refusals.push(row)
    this.#schedule()
  }

  /** Records an outcome; resolves with false when the row was no longer in a state to move from. */
  settle(outcome: OutcomeToRecord, intent: IntentId | null, isWrite: boolean): Promise<boolean> {
    return new Promise((done) => {
      if (isWrite) this.#unsettled.begin(outcome.settlement.id)
      this.#settlements.push({ ...outcome, intent, isWrite, done, attempts: 0 })
      this.#schedule()
    })
  }

  /**
   * Records where a caller is; resolves with whether it moved. What is lost of it in a crash, the lease tells. What is not
   * settled is not collected: it may yet become unknown, and identical calls have to find it.
   */
  moveCaller(change: CallerChange): Promise<boolean> {
    return new Promise((done) => {
      const move: PendingMove = { change, done, attempts: 0 }
      const isKept = change.to === 'collected' && this.#unsettled.keep(move)
      if (!isKept) this.#moves.push(move)
      this.#schedule()
    })
  }

  /** Resolves when what was to be recorded about an execution until now is, or cannot be. */
  async recorded(id: ExecutionId, by: InstanceId): Promise<void> {
    // Waits where moves wait, and moves nothing.
    await this.moveCaller({ id, from: [], to: 'collected', by })
  }

  #settled({ settlement: { id }, isWrite, done }: PendingSettlement, moved: boolean): void {
    if (isWrite) this.#moves.push(...this.#unsettled.end(id))
    done(moved)
  }

  /** Extends the lease in a flushed transaction, which also makes waiting outcomes durable. */
  renew(instance: Renewal): void {
    this.#renewal = instance
    this.#schedule()
  }

  /** Resolves when nothing is queued or running, or after `ms`: a database that is away is tried again without end. */
  async drained(ms = 60_000): Promise<void> {
    if (this.#isIdle()) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#idle.push(resolve)
    await atMost(ms, promise)
  }

  /**
   * Resolves when what came until now was recorded, or was tried, or after `ms`: for who asks what is on record. Callers'
   * moves that wait for outcomes come after those.
   */
  async caughtUp(ms = 1_000): Promise<void> {
    const running = [...this.#runs]
    const { promise, resolve } = Promise.withResolvers<void>()
    if (this.#hasWork()) this.#asking.push(resolve)
    else resolve()
    this.#schedule()
    await atMost(ms, Promise.all([...running, promise]))
  }

  #isIdle(): boolean {
    return this.#running === 0 && this.#delayed === 0 && !this.#hasWork()
  }

  #hasWork(): boolean {
    return (
      this.#entries.length + this.#refusals.length > 0 ||
      this.#settlements.length + this.#moves.length > 0 ||
      this.#renewal !== undefined
    )
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= runningLimit || !this.#hasWork()) return
    if (!this.#isAwaited()) {
      this.#lonely ??= setTimeout(() => this.#beginLonely(), companyMs)
      return
    }
    this.#scheduled = true
    setImmediate(() => this.#begin())
  }

  /**
   * Outcomes of reads and refusals are not: they leave with the next group that somebody waits for, or soon by themselves.
   * Those of writes are, by whoever asks for the same again.
   */
  #isAwaited(): boolean {
    const isAsked = this.#entries.length + this.#asking.length > 0 || this.#renewal !== undefined
    return isAsked || this.#moves.length > 0 || this.#settlements.some(({ isWrite }) => isWrite)
  }

  #begin(): void {
    this.#scheduled = false
    clearTimeout(this.#lonely)
    this.#lonely = undefined
    const run = this.#run(this.#take())
    this.#runs.add(run)
    void run.finally(() => this.#runs.delete(run))
  }

  /** Nobody came along. Where others run just now, they look for what is left when they end. */
  #beginLonely(): void {
    this.#lonely = undefined
    if (!this.#scheduled && this.#running < runningLimit && this.#hasWork()) this.#begin()
  }

  #take(): Group {
    const group = {
      entries: this.#entries.splice(0, groupLimit),
      refusals: this.#refusals.splice(0, groupLimit),
      settlements: this.#settlements.splice(0, groupLimit),
      moves: this.#moves.splice(0, groupLimit),
      renewal: this.#renewal,
    }
    this.#renewal = undefined
    return group
  }

  async #run(group: Group): Promise<void> {
    const asking = this.#asking.splice(0)
    this.#running++
    this.#schedule()
    try {
      await this.#commit(group)
    } finally {
      for (const answer of asking) answer()
      this.#running--
      this.#schedule()
      if (this.#isIdle()) for (const wake of this.#idle.splice(0)) wake()
    }
  }

  async #commit(group: Group): Promise<void> {
    const { journal, measure } = this.#deps
    const isDurable =
      group.renewal !== undefined ||
      group.entries.some(({ entry }) => entry.request.tool.binding.access === 'write')
    const flushedByThis = isDurable ? this.#unflushed : []
    const batch: Batch = { decisions: [], orders: [], sent: undefined }
    let moved: Moved
    try {
      moved = await journal.transact((tx, page) => this.#statements(tx, page, group, batch), {
        flush: isDurable ? 'wait' : 'later',
      })
    } catch (thrown) {
      await this.#failed(group, batch, toSallyportError(thrown))
      return
    }
    if (group.entries.length > 0) measure?.(group.entries.length)
    batch.decisions.forEach((decision, at) => {
      group.entries[at]?.decided(decision)
    })
    batch.sent?.commit(batch.orders.map((_, position) => position))
    this.#told(group.settlements, moved.rows, isDurable, flushedByThis)
    for (const [at, { done }] of group.moves.entries()) done(moved.callers[at] === true)
  }

  async #statements(tx: Tx, page: PageDraft, group: Group, batch: Batch): Promise<Moved> {
    const { settlements, moves, renewal, refusals, entries } = group
    await holdUnknownKeys(tx, settlements)
    const rows = new Set<PendingSettlement>()
    const record = async (some: readonly PendingSettlement[]): Promise<void> => {
      const moved = await recordOutcomes(tx, page, some)
      for (const [at, one] of some.entries()) if (moved[at]) rows.add(one)
    }
    await record(settlements.filter(isFirst))
    const changes = moves.map(({ change }) => change)
    const callers = changes.length > 0 ? await tx.executions.moveCallers(changes) : []
    if (renewal) await tx.instances.renew({ ...renewal, leaseUntil: (await tx.now()) + leaseMs })
    if (refusals.length > 0) await recordRefusals(tx, page, refusals)
    if (entries.length > 0) await this.#barrier(tx, page, entries, batch)
    // The worker has begun meanwhile.
    await record(settlements.filter((one) => !isFirst(one)))
    return { rows, callers }
  }

  async #barrier(
    tx: Tx,
    page: PageDraft,
    entries: readonly PendingEntry[],
    batch: Batch,
  ): Promise<void> {
    const { worker } = this.#deps
    const { decisions, orders } = await passBarrier(
      tx,
      page,
      entries.map(({ entry }) => entry),
      { ...this.#deps, worker: () => worker.instance() },
    )
    batch.decisions = decisions
    if (orders.length === 0) return
    try {
      batch.sent = worker.send(orders)
      batch.orders = orders
      page.batch = batchOf(orders.map(({ digest }) => digest))
    } catch (thrown) {
      batch.decisions = await this.#notSent(tx, page, decisions, toSallyportError(thrown).code)
    }
  }

  /** The worker went away between the look at it and the send: what had passed is proved not sent. */
  async #notSent(
    tx: Tx,
    page: PageDraft,
    decisions: readonly BarrierDecision[],
    code: ErrorCode,
  ): Promise<BarrierDecision[]> {
    const finishedAt = this.#deps.now()
    await recordOutcomes(
      tx,
      page,
      decisions.flatMap((decision) => {
        if (decision.kind !== 'passed') return []
        const { id, intentId, writeKey } = decision.row
        const settlement = {
          id,
          from: ['dispatching'],
          ...(intentId ? { intentId } : {}),
          state: 'not_sent',
          code,
          finishedAt,
        } as const
        return [{ settlement, writeKey, body: undefined }]
      }),
    )
    return decisions.map((decision) =>
      decision.kind === 'passed'
        ? { kind: 'refused', row: { ...decision.row, state: 'not_sent', code }, code }
        : decision,
    )
  }

  #told(
    settlements: readonly PendingSettlement[],
    moved: ReadonlySet<PendingSettlement>,
    isDurable: boolean,
    flushedByThis: readonly IntentId[],
  ): void {
    const flushed = new Set(flushedByThis)
    if (flushed.size > 0) this.#unflushed = this.#unflushed.filter((id) => !flushed.has(id))
    for (const settlement of settlements) {
      const { intent, isWrite } = settlement
      this.#settled(settlement, moved.has(settlement))
      if (intent === null) continue
      if (isWrite && !isDurable) this.#unflushed.push(intent)
      else flushed.add(intent)
    }
    if (flushed.size > 0) this.#deps.worker.settled([...flushed])
  }

  /**
   * A failed commit refuses them all. When nothing was sent and the fault may be one's alone, each is tried by itself:
   * neighbours do not pay for it, least of all outcomes and refusals, which nobody brings again.
   */
  async #failed(group: Group, batch: Batch, error: SallyportError): Promise<void> {
    batch.sent?.abort()
    this.#deps.report(error, 'group commit')
    // A lease that was not renewed is renewed by the next turn of its chore: at once would be without end.
    const each = eachAlone(group)
    if (!batch.sent && each.length > 1 && error.code !== 'store_unavailable') {
      for (const one of each) await this.#commit(one)
      return
    }
    this.#requeue(group, error)
    for (const [at, { decided }] of group.entries.entries()) {
      const perhaps = batch.decisions[at]
      decided({ kind: 'failed', code: error.code, ...(perhaps ? { perhaps } : {}) })
    }
    const passed = batch.decisions.flatMap((decision) =>
      decision.kind === 'passed' ? [decision.row] : [],
    )
    if (batch.sent && passed.length > 0) this.#deps.suspect(passed)
  }

  /** What nobody brings again. */
  #requeue({ settlements, moves }: Group, error: SallyportError): void {
    const isTriedAgain = (pending: PendingSettlement | PendingMove): boolean => {
      pending.attempts++
      return error.code === 'store_unavailable' || pending.attempts < settleAttempts
    }
    const again = {
      settlements: settlements.filter(isTriedAgain),
      moves: moves.filter(isTriedAgain),
    }
    for (const one of settlements) if (!again.settlements.includes(one)) this.#settled(one, false)
    for (const one of moves) if (!again.moves.includes(one)) one.done(false)
    if (again.settlements.length + again.moves.length === 0) return
    this.#delayed++
    setTimeout(() => {
      this.#delayed--
      this.#settlements.push(...again.settlements)
      this.#moves.push(...again.moves)
      this.#schedule()
    }, retryMs)
  }
}
