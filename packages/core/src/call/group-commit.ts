/**
 * Group commit: what arrived in one turn of the event loop shares one transaction, without a timer. Outcomes go first,
 * then refusals, then the barrier; its orders are signed and sent while the transaction still flushes, and become
 * valid only by `commit`.
 */
import {
  type ErrorCode,
  type IntentId,
  type SallyportError,
  toSallyportError,
} from '@sallyport/protocol'
import { batchOf } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'
import { type Instance, leaseMs } from '../instance/instance.ts'
import { recordedEvent, settledEvent } from '../journal/events.ts'
import type { Journal, PageDraft } from '../journal/journal.ts'
import type { Tx } from '../store.ts'
import { type Admitted, type BarrierDecision, type BarrierDeps, passBarrier } from './barrier.ts'
import type { Order, SentBatch, WorkerPort } from './ports.ts'

interface Entry {
  readonly admitted: Admitted
  readonly decided: (decision: BarrierDecision | { kind: 'failed'; code: ErrorCode }) => void
}

interface PendingSettlement {
  readonly settlement: Settlement
  readonly intent: IntentId | null
  readonly isWrite: boolean
  readonly done: (moved: boolean) => void
  attempts: number
}

type Renewal = Pick<Instance, 'id' | 'startedAt'>

interface Group {
  readonly entries: readonly Entry[]
  readonly refusals: readonly Execution[]
  readonly settlements: readonly PendingSettlement[]
  readonly renewal: Renewal | undefined
}

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
const retryMs = 250
const settleAttempts = 5

export class GroupCommit {
  readonly #deps: GroupCommitDeps
  #entries: Entry[] = []
  #refusals: Execution[] = []
  #settlements: PendingSettlement[] = []
  #renewal: Renewal | undefined
  /** Outcomes of writes that are committed but perhaps not flushed: the worker still keeps their results. */
  #unflushed: IntentId[] = []
  #running = 0
  /** Groups of outcomes that wait before they are tried again. */
  #delayed = 0
  #scheduled = false
  #idle: (() => void)[] = []

  constructor(deps: GroupCommitDeps) {
    this.#deps = deps
  }

  /** Takes a call to the barrier. Before `passed` is told, nothing of it was acted on; then `onPassed` has run. */
  pass(admitted: Admitted, onDecided: Entry['decided']): void {
    this.#entries.push({ admitted, decided: onDecided })
    this.#schedule()
  }

  /** Records a refusal. Not waited for: nothing depends on it. */
  refuse(row: Execution): void {
    this.#refusals.push(row)
    this.#schedule()
  }

  /** Records an outcome; resolves with false when the row was no longer in a state to move from. */
  settle(settlement: Settlement, intent: IntentId | null, isWrite: boolean): Promise<boolean> {
    return new Promise((done) => {
      this.#settlements.push({ settlement, intent, isWrite, done, attempts: 0 })
      this.#schedule()
    })
  }

  /** Extends the lease in a flushed transaction, which also makes waiting outcomes durable. */
  renew(instance: Renewal): void {
    this.#renewal = instance
    this.#schedule()
  }

  /** Resolves when nothing is queued or running, or after `ms`: a database that is away is tried again without end. */
  async drained(ms = 60_000): Promise<void> {
    if (this.#isIdle()) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#idle.push(resolve)
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
  }

  #isIdle(): boolean {
    return this.#running === 0 && this.#delayed === 0 && !this.#hasWork()
  }

  #hasWork(): boolean {
    return (
      this.#entries.length + this.#refusals.length + this.#settlements.length > 0 ||
      this.#renewal !== undefined
    )
  }

  #schedule(): void {
    if (this.#scheduled || this.#running >= runningLimit || !this.#hasWork()) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      void this.#run(this.#take())
    })
  }

  #take(): Group {
    const group = {
      entries: this.#entries.splice(0, groupLimit),
      refusals: this.#refusals.splice(0, groupLimit),
      settlements: this.#settlements.splice(0, groupLimit),
      renewal: this.#renewal,
    }
    this.#renewal = undefined
    return group
  }

  async #run(group: Group): Promise<void> {
    this.#running++
    this.#schedule()
    try {
      await this.#commit(group)
    } finally {
      this.#running--
      this.#schedule()
      if (this.#isIdle()) for (const wake of this.#idle.splice(0)) wake()
    }
  }

  async #commit(group: Group): Promise<void> {
    const { journal, measure } = this.#deps
    const isDurable =
      group.renewal !== undefined ||
      group.entries.some(({ admitted }) => admitted.request.tool.binding.access === 'write')
    const flushedByThis = isDurable ? this.#unflushed : []
    const batch: Batch = { decisions: [], orders: [], sent: undefined }
    let moved: boolean[]
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
    this.#told(group.settlements, moved, isDurable, flushedByThis)
  }

  async #statements(tx: Tx, page: PageDraft, group: Group, batch: Batch): Promise<boolean[]> {
    const moved = await settleAll(
      tx,
      page,
      group.settlements.map(({ settlement }) => settlement),
    )
    if (group.renewal)
      await tx.instances.renew({ ...group.renewal, leaseUntil: (await tx.now()) + leaseMs })
    if (group.refusals.length > 0) await recordRefusals(tx, page, group.refusals)
    if (group.entries.length === 0) return moved
    const { worker } = this.#deps
    const { decisions, orders } = await passBarrier(
      tx,
      group.entries.map(({ admitted }) => admitted),
      { ...this.#deps, worker: () => worker.instance() },
    )
    batch.decisions = decisions
    for (const decision of decisions)
      if (decision.kind !== 'duplicate') page.note(recordedEvent(decision.row))
    if (orders.length === 0) return moved
    try {
      batch.sent = worker.send(orders)
      batch.orders = orders
      page.batch = batchOf(orders.map(({ digest }) => digest))
    } catch (thrown) {
      batch.decisions = await this.#notSent(tx, page, decisions, toSallyportError(thrown).code)
    }
    return moved
  }

  /** The worker went away between the look at it and the send: what had passed is proved not sent. */
  async #notSent(
    tx: Tx,
    page: PageDraft,
    decisions: readonly BarrierDecision[],
    code: ErrorCode,
  ): Promise<BarrierDecision[]> {
    const finishedAt = this.#deps.now()
    await settleAll(
      tx,
      page,
      decisions.flatMap((decision) =>
        decision.kind === 'passed'
          ? [
              {
                id: decision.row.id,
                from: ['dispatching'],
                state: 'not_sent',
                code,
                finishedAt,
              } as const,
            ]
          : [],
      ),
    )
    return decisions.map((decision) =>
      decision.kind === 'passed'
        ? { kind: 'refused', row: { ...decision.row, state: 'not_sent', code }, code }
        : decision,
    )
  }

  #told(
    settlements: readonly PendingSettlement[],
    moved: readonly boolean[],
    isDurable: boolean,
    flushedByThis: readonly IntentId[],
  ): void {
    const flushed = new Set(flushedByThis)
    if (flushed.size > 0) this.#unflushed = this.#unflushed.filter((id) => !flushed.has(id))
    for (const [at, { intent, isWrite, done }] of settlements.entries()) {
      done(moved[at] === true)
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
    this.#requeue(group.settlements, error)
    for (const { decided } of group.entries) decided({ kind: 'failed', code: error.code })
    const passed = batch.decisions.flatMap((decision) =>
      decision.kind === 'passed' ? [decision.row] : [],
    )
    if (batch.sent && passed.length > 0) this.#deps.suspect(passed)
  }

  #requeue(settlements: readonly PendingSettlement[], error: SallyportError): void {
    const again = settlements.filter((pending) => {
      pending.attempts++
      if (error.code === 'store_unavailable' || pending.attempts < settleAttempts) return true
      pending.done(false)
      return false
    })
    if (again.length === 0) return
    this.#delayed++
    setTimeout(() => {
      this.#delayed--
      this.#settlements.push(...again)
      this.#schedule()
    }, retryMs)
  }
}

/** Which of them moved their row. */
async function settleAll(
  tx: Tx,
  page: PageDraft,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const sequences = await tx.executions.settle(settlements)
  return settlements.map((settlement, at) => {
    const sequence = sequences[at]
    if (sequence !== undefined) page.note(settledEvent(settlement, sequence))
    return sequence !== undefined
  })
}

/** Of a call id that is recorded already nothing is told. */
async function recordRefusals(tx: Tx, page: PageDraft, rows: readonly Execution[]): Promise<void> {
  const results = await tx.executions.insert(rows)
  for (const [at, row] of rows.entries())
    if (results[at] === 'inserted') page.note(recordedEvent(row))
}

function eachAlone({ entries, refusals, settlements }: Group): Group[] {
  const none: Group = { entries: [], refusals: [], settlements: [], renewal: undefined }
  return [
    ...settlements.map((one) => ({ ...none, settlements: [one] })),
    ...refusals.map((one) => ({ ...none, refusals: [one] })),
    ...entries.map((one) => ({ ...none, entries: [one] })),
  ]
}

interface Batch {
  decisions: BarrierDecision[]
  orders: readonly Order[]
  sent: SentBatch | undefined
}
