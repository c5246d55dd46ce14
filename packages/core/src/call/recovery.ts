/**
 * Finds out what became of dispatching rows that nobody waits for on a living connection: after a lost worker
 * connection, an unclear commit, a restart, a gateway whose lease lapsed. It asks the worker the intent was addressed
 * to; what nobody can answer for becomes `unknown` (a read: `lost`), and not before that can no longer be wrong.
 */
import type { InstanceId, IntentId } from '@sallyport/protocol'
import type { Execution } from '../execution/execution.ts'
import { claimedEvent } from '../journal/events.ts'
import type { Journal } from '../journal/journal.ts'
import type { Store } from '../store.ts'
import type { CallDesk } from './call-desk.ts'
import type { Recovered, WorkerPort } from './ports.ts'
import { outcomeOf, uncertain } from './verdict.ts'

/** Nothing is called unknown before its `notAfter` and this. */
export const graceMs = 10_000

export interface RecoveryDeps {
  readonly store: Store
  readonly journal: Journal
  readonly worker: WorkerPort
  readonly desk: CallDesk
  readonly gateway: InstanceId
  readonly now: () => number
  /** The process of that worker instance is known to have ended. */
  readonly provedGone: (instance: string) => boolean
  readonly report: (error: unknown, where: string) => void
}

export class Recovery {
  readonly #deps: RecoveryDeps
  readonly #rows = new Map<IntentId, Execution>()
  #round: Promise<void> | undefined

  constructor(deps: RecoveryDeps) {
    this.#deps = deps
  }

  /** Rows of this instance whose end is not clear. */
  suspect(rows: Iterable<Execution>): void {
    for (const row of rows) if (row.intentId !== null) this.#rows.set(row.intentId, row)
  }

  /** Intents whose connection ended before their results came. */
  lost(ids: readonly IntentId[]): void {
    const wanted = new Set<string>(ids)
    this.suspect(
      this.#deps.desk.waitingRows().filter(({ intentId }) => intentId && wanted.has(intentId)),
    )
  }

  get size(): number {
    return this.#rows.size
  }

  /** Its outcome is known otherwise. */
  forget(id: IntentId): void {
    this.#end(id)
  }

  /**
   * Takes over what instances without a lease have left, unless the worker that knows may still be asked by the gateway
   * beside it, and rows of this one that can no longer end by themselves and that nothing may wait for: an unclear
   * commit that was done after all, an outcome that could not be recorded. Called at start and every few seconds.
   */
  async adopt(): Promise<void> {
    const { store, gateway, now, worker } = this.#deps
    const own = await store.executions.dispatchingOf(gateway)
    this.suspect(own.filter((row) => isOverdue(row, now())))
    for (const row of await store.executions.abandoned(await this.#databaseTime())) {
      if (row.gatewayInstance === gateway) continue
      if (row.workerInstance !== worker.instance() && !this.#isHopeless(row)) continue
      if (await this.#claim(row)) this.suspect([row])
    }
  }

  #claim(row: Execution): Promise<boolean> {
    const { journal, gateway, now } = this.#deps
    return journal.transact(async (tx, page) => {
      const sequence = await tx.executions.claim(row.id, row.gatewayInstance, gateway)
      if (sequence !== undefined) page.note(claimedEvent(row, gateway, sequence, now()))
      return sequence !== undefined
    })
  }

  /** Leases are written by many clocks and judged by one. */
  #databaseTime(): Promise<number> {
    return this.#deps.store.transact((tx) => tx.now(), { flush: 'later' })
  }

  /** One round over everything open. Rounds never overlap; a call during one joins it. */
  round(): Promise<void> {
    this.#round ??= this.#ask().finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  async #ask(): Promise<void> {
    const { worker, desk, now, report } = this.#deps
    this.suspect(desk.waitingRows().filter((row) => isOverdue(row, now())))
    if (this.#rows.size === 0) return
    const instance = worker.instance()
    const addressed = [...this.#rows.values()].filter((row) => row.workerInstance === instance)
    if (instance !== undefined && addressed.length > 0) {
      try {
        for (const answer of await worker.recover(addressed.map(toQuestion))) this.#answered(answer)
      } catch (thrown) {
        report(thrown, 'recovery')
      }
    }
    for (const row of this.#rows.values()) this.#giveUpWhenDue(row)
  }

  #answered({ head, raw }: Recovered): void {
    const id = head.intent as IntentId
    const row = this.#rows.get(id)
    if (!row || head.instance !== row.workerInstance) return
    const access = row.access ?? 'write'
    if (head.state === 'result' && head.result) {
      this.#end(id)
      this.#deps.desk.onRecovered(row, outcomeOf(head.result, access), head.result, raw)
    } else if (head.state === 'never_started') {
      this.#end(id)
      this.#deps.desk.onRecovered(row, { state: 'not_sent', code: 'not_sent' })
    }
  }

  #giveUpWhenDue(row: Execution): void {
    if (!this.#isHopeless(row)) return
    this.#end(row.intentId as IntentId)
    this.#deps.desk.onRecovered(row, uncertain(row.access ?? 'write'))
  }

  /** Nobody will answer for it any more. */
  #isHopeless(row: Execution): boolean {
    const { now, provedGone } = this.#deps
    const isGone = row.workerInstance !== null && provedGone(row.workerInstance)
    return isGone || isOverdue(row, now())
  }

  #end(id: IntentId): void {
    this.#rows.delete(id)
  }
}

function isOverdue(row: Execution, now: number): boolean {
  return now >= (row.notAfter ?? 0) + graceMs
}

function toQuestion(row: Execution): { id: IntentId; iat: number; aud: string } {
  return {
    id: row.intentId as IntentId,
    iat: row.intentIssuedAt ?? 0,
    aud: row.workerInstance ?? '',
  }
}
