import type { IdSource } from '@sallyport/protocol'
import type { Journal } from './journal/journal.ts'
import type { Store } from './store.ts'

/** What the verbs need from outside. Times come from the database's clock. */
export interface Deps {
  readonly store: Store
  /** For verbs that move executions: they tell the journal in the same transaction. */
  readonly journal: Pick<Journal, 'transact'>
  readonly ids: IdSource
  /** Cryptographically random bytes, for tokens. */
  readonly random: (size: number) => Uint8Array
}
