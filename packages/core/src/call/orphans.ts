/**
 * Looks after executions before the barrier that nobody here waits for: what was approved goes on without its caller where
 * it may, and callers of gateways that are gone are recorded as having left.
 */
import type { ExecutionId, InstanceId } from '@sallyport/protocol'
import { isBeforeBarrier } from '../approval/cancel-waiting.ts'
import type { Execution } from '../execution/execution.ts'
import type { CallerChange } from '../execution/execution-store.ts'
import { type CallOfRowDeps, callOfRow } from './call-of-row.ts'
import type { GroupCommit } from './group-commit.ts'
import type { Holds, Waiter } from './holds.ts'
import { momentOf } from './take-over.ts'
import { callerOf, type Moment } from './twins.ts'

export interface OrphansDeps extends CallOfRowDeps {
  readonly group: Pick<GroupCommit, 'pass'>
  readonly holds: Pick<Holds, 'wake' | 'has'>
  readonly gateway: InstanceId
  readonly report: (error: unknown, where: string) => void
  readonly passed: (row: Execution, waiter: Waiter) => void
}

const atOnce = 1_000

export class Orphans {
  readonly #deps: OrphansDeps
  readonly #going = new Set<ExecutionId>()

  constructor(deps: OrphansDeps) {
    this.#deps = deps
  }

  /** Something was decided about these executions, by whichever gateway. */
  async heard(ids: readonly ExecutionId[] | 'all'): Promise<void> {
    const others = this.#deps.holds.wake(ids)
    if (ids === 'all') return this.look()
    if (others.length === 0) return
    await this.#look(await this.#deps.store.executions.getMany(others))
  }

  /** Called every few seconds: what was missed costs no more than that. */
  async look(): Promise<void> {
    const { executions } = this.#deps.store
    // However many wait for a person: what was approved is not behind them.
    const approved = await executions.list({ state: 'approved', limit: atOnce })
    this.#deps.holds.wake(approved.map(({ id }) => id))
    const waiting = await executions.waiting(atOnce)
    await this.#look([...approved, ...waiting.filter(({ state }) => state !== 'approved')])
  }

  async #look(rows: readonly Execution[]): Promise<void> {
    const waiting = rows.filter((row) => isBeforeBarrier(row) && !this.#deps.holds.has(row.id))
    if (waiting.length === 0) return
    const moment = await this.#recordLeaving(waiting)
    for (const row of waiting) {
      const goesOn = callerOf(row, moment) === 'detached' && !row.isModern
      if (row.state === 'approved' && goesOn) await this.#goOn(row)
    }
  }

  /** In one transaction with the look at the leases: whoever holds one by then has its callers. */
  #recordLeaving(rows: readonly Execution[]): Promise<Moment> {
    const { store, gateway } = this.#deps
    return store.transact(
      async (tx) => {
        const moment = await momentOf(tx, gateway)
        const changes = rows.flatMap((row): CallerChange[] => {
          const { id, callerInstance: of } = row
          const to = callerOf(row, moment)
          if (to === row.caller || to === null || of === null) return []
          return [{ id, from: ['attached'], of, to, by: of }]
        })
        if (changes.length > 0) await tx.executions.moveCallers(changes)
        return moment
      },
      { flush: 'later' },
    )
  }

  /** The barrier decides; when two gateways come with it, one of them passes. */
  async #goOn(row: Execution): Promise<void> {
    const { group, passed, report } = this.#deps
    if (this.#going.has(row.id)) return
    this.#going.add(row.id)
    try {
      const call = await callOfRow(row, { era: 'legacy' }, this.#deps)
      if (!call) return
      const { request, argumentsText } = call
      await new Promise<void>((decided) => {
        group.pass(
          { kind: 'continuation', request, row, argumentsText, holds: () => 'nobody' },
          (decision) => {
            if (decision.kind === 'passed')
              passed(decision.row, { request, answer: () => {}, isEarlier: false })
            decided()
          },
        )
      })
    } catch (thrown) {
      report(thrown, 'call without caller')
    } finally {
      this.#going.delete(row.id)
    }
  }
}
