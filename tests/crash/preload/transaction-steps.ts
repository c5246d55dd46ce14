/** The steps of one connection's transactions: each statement, and the commit with what it is for. */

import { purposesOf, statementNames } from './statement-names.ts'
import type { StepBook } from './step-book.ts'

/** What a commit, or the flush of one, is named for. */
export const namedFor = (step: string, purposes: readonly string[]): string[] =>
  purposes.map((purpose) => `${step}(${purpose})`)

export class TransactionSteps {
  readonly #book: StepBook
  #within: string[] | undefined

  constructor(book: StepBook) {
    this.#book = book
  }

  /** Undefined outside a transaction: reads of what is committed are no steps. */
  names(sql: string, params: readonly unknown[]): readonly string[] | undefined {
    const names = statementNames(sql, params)
    const [first] = names
    if (first === 'begin') this.#within = []
    if (!this.#within) return undefined
    if (first === 'rollback') {
      this.#within = undefined
      return undefined
    }
    if (first !== 'commit') return names
    return namedFor('commit', this.purposes)
  }

  /** Of the transaction that is open. */
  get purposes(): string[] {
    return purposesOf(this.#within ?? [])
  }

  before(names: readonly string[]): Promise<void> | undefined {
    const within = [...(this.#within ?? [])]
    this.#within?.push(...names)
    return this.#book.wait(names, 'before', within)
  }

  /** Where statements cannot wait. */
  atOnceBefore(names: readonly string[]): void {
    const within = [...(this.#within ?? [])]
    this.#within?.push(...names)
    this.#book.reach(names, 'before', within)
  }

  after(names: readonly string[]): void {
    this.#book.reach(names, 'after', this.#within ?? [])
  }

  /** It was committed; what it was for. */
  end(): string[] {
    const { purposes } = this
    this.#within = undefined
    return purposes
  }
}
