/**
 * What the SQL is run by: one small interface for both engines. Statements are written once, as Postgres takes them, with
 * `$1` for parameters; a list is one parameter (`= ANY($1)`).
 */
import type { Scalar } from '../rows/column.ts'
import type { Shape } from '../rows/table.ts'

export type Param = Scalar | readonly Scalar[]

/** A row as an array, in the order of the selected columns. */
export type Kept = readonly unknown[]

/** The first `keys` columns name a row, the others are set in it. */
export interface Update extends Shape {
  readonly keys: number
}

/**
 * A change of one row that its condition guards, in terms of `given.column` for each of the columns. The first column is
 * the id of the row.
 */
export interface Swap extends Shape {
  readonly set: string
  readonly guard: string
}

export interface SqlReader {
  /** Throws `store_unavailable` when the database fails. */
  rows(sql: string, params: readonly Param[]): Promise<readonly Kept[]>
}

/** One transaction. After it has ended, every use throws TypeError; after a failure it can only be rolled back. */
export interface SqlWriter extends SqlReader {
  /** How many rows were written. Throws TypeError when a unique index refuses. */
  run(sql: string, params: readonly Param[]): Promise<number>
  /** As `run`, but undefined when a unique index refuses; the transaction goes on. */
  attempt(sql: string, params: readonly Param[]): Promise<number | undefined>
  /** All or, with a TypeError for a key that exists, none. */
  insertAll(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<void>
  /** Each on its own, in the order given; the values of the first column of those that no unique index refused. */
  insertNew(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<Set<unknown>>
  /** How many rows were written. */
  updateAll(update: Update, rows: readonly (readonly Scalar[])[]): Promise<number>
  /** Each on its own, in the order given; which of them wrote. Waits for others that change the same rows, by id. */
  swapAll(swap: Swap, rows: readonly (readonly Scalar[])[]): Promise<boolean[]>
  /** Serializes transactions on a word. Waits; ends with the transaction. */
  holdKey(key: string): Promise<void>
  /** Waits for transactions that wrote into the table, and lets none write until this one ends. */
  holdTable(name: string): Promise<void>
  /** Takes the locks of write keys until the transaction ends; without waiting it leaves out what another one holds. */
  holdWriteKeys(keys: readonly string[], how: 'try' | 'wait'): Promise<ReadonlySet<string>>
  /** Takes the right to insert rows of these write keys, without waiting; leaves out what another one holds or has. */
  freeWriteKeys(keys: readonly string[]): Promise<ReadonlySet<string>>
}
