import type { IdSource } from '@sallyport/protocol'
import type { Store } from './store.ts'

/** What the verbs need from outside. Times come from the database's clock. */
export interface Deps {
  readonly store: Store
  readonly ids: IdSource
  /** Cryptographically random bytes, for tokens. */
  readonly random: (size: number) => Uint8Array
}
