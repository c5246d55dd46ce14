/** Answers that came after their call was given up: kept beside the row as evidence for whoever resolves it. They settle nothing. */
import type { ExecutionId, IntentId } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Execution } from '../execution/execution.ts'
import type { Store } from '../store.ts'

const rememberedAtMost = 1_000

export class LateAnswers {
  readonly #store: Store
  readonly #now: () => number
  readonly #unknown = new Map<string, ExecutionId>()

  constructor(store: Store, now: () => number) {
    this.#store = store
    this.#now = now
  }

  /** It was given up; its answer may still come. */
  expect({ id, intentId }: Pick<Execution, 'id'> & { intentId: IntentId | null }): void {
    if (intentId === null) return
    this.#unknown.set(intentId, id)
    for (const oldest of this.#unknown.keys()) {
      if (this.#unknown.size <= rememberedAtMost) break
      this.#unknown.delete(oldest)
    }
  }

  async keep(head: ResultHead): Promise<void> {
    const id = this.#unknown.get(head.intent)
    if (id === undefined) return
    this.#unknown.delete(head.intent)
    const { status, isError, code, digest, bytes, tookMs } = head
    const said = { status, isError, code, digest, bytes, tookMs }
    const told = Object.entries(said).filter(([, value]) => value !== undefined)
    const lateAnswer = { at: this.#now(), ...Object.fromEntries(told) }
    await this.#store.transact((tx) => tx.executions.note(id, { lateAnswer }))
  }
}
