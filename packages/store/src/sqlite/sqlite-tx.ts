import type { Authority, AuthorityRefs } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import type { Scalar } from '../rows/column.ts'
import type { Shape } from '../rows/table.ts'
import type { Kept, Param, SqlWriter, Swap, Update } from '../sql/driver.ts'
import type { TxLocks } from '../sql/sql-nouns.ts'
import { insert, perShape } from '../sql/statements.ts'
import type { RememberedAuthority } from './remembered-authority.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

const insertRow = perShape((shape) => insert(shape))
const insertNewRow = perShape((shape) => insert(shape, 'ON CONFLICT DO NOTHING'))
const updateRow = perShape<Update>(({ name, columns, keys }) => {
  const terms = columns.map((column, i) => `${column} = $${i + 1}`)
  return `UPDATE ${name} SET ${terms.slice(keys).join(', ')}
    WHERE ${terms.slice(0, keys).join(' AND ')}`
})

const swapRow = perShape<Swap>(({ name, columns, set, guard }) => {
  const given = (text: string) =>
    text.replace(/\bgiven\.(\w+)/g, (_, column: string) => `$${columns.indexOf(column) + 1}`)
  return `UPDATE ${name} SET ${given(set)} WHERE ${columns[0]} = $1 AND ${given(guard)}`
})

/** One transaction. It is the only one that writes, so it holds every lock there is from its beginning. */
export class SqliteTx implements SqlWriter, TxLocks {
  readonly #connection: SqliteConnection
  readonly #authority: RememberedAuthority
  readonly #clock: () => number
  /** To be told once it is committed. */
  readonly announced: ExecutionId[] = []
  #startedAt: number | undefined
  #failure: unknown
  #isOver = false
  #written = 0

  constructor(connection: SqliteConnection, authority: RememberedAuthority, clock: () => number) {
    this.#connection = connection
    this.#authority = authority
    this.#clock = clock
  }

  /** Ends its use. Throws what failed in it, also when `work` went on: it is not to be committed then. */
  end(): void {
    this.#isOver = true
    if (this.#failure) throw this.#failure
  }

  /** Ends its use after `work` threw. */
  abandon(): void {
    this.#isOver = true
  }

  /** Rows so far, and for large ones the pages they fill besides. */
  get written(): number {
    return this.#written
  }

  rows(sql: string, params: readonly Param[]): Promise<readonly Kept[]> {
    return this.#do((connection) => connection.rows(sql, params))
  }

  run(sql: string, params: readonly Param[]): Promise<number> {
    return this.#do((connection) => this.#count(connection.run(sql, params)))
  }

  attempt(sql: string, params: readonly Param[]): Promise<number | undefined> {
    return this.#do((connection) => {
      const written = connection.attempt(sql, params)
      return written === undefined ? undefined : this.#count(written)
    })
  }

  insertAll(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<void> {
    const sql = insertRow(shape)
    return this.#do((connection) => {
      for (const row of rows) this.#count(connection.run(sql, row))
    })
  }

  insertNew(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<Set<unknown>> {
    const sql = insertNewRow(shape)
    return this.#do((connection) => {
      const inserted = rows.filter((row) => connection.run(sql, row) === 1)
      for (const row of inserted) this.#count(1 + pagesOf(row))
      return new Set(inserted.map((row) => row[0]))
    })
  }

  updateAll(update: Update, rows: readonly (readonly Scalar[])[]): Promise<number> {
    const sql = updateRow(update)
    return this.#do((connection) => {
      let written = 0
      for (const row of rows) written += connection.run(sql, row)
      return this.#count(written)
    })
  }

  swapAll(swap: Swap, rows: readonly (readonly Scalar[])[]): Promise<boolean[]> {
    const sql = swapRow(swap)
    return this.#do((connection) => rows.map((row) => this.#count(connection.run(sql, row)) === 1))
  }

  async holdKey(): Promise<void> {}

  async holdTable(): Promise<void> {}

  async holdWriteKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys)
  }

  async freeWriteKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    return new Set(keys)
  }

  async now(): Promise<number> {
    this.#startedAt ??= this.#clock()
    return this.#startedAt
  }

  async lockAuthority(refs: AuthorityRefs): Promise<Authority> {
    const now = await this.now()
    return this.#do(() => this.#authority.read(refs, now))
  }

  async lockForChange(): Promise<void> {}

  announce(ids: readonly ExecutionId[]): Promise<void> {
    return this.#do(() => {
      this.announced.push(...ids)
    })
  }

  #count(rows: number): number {
    this.#written += rows
    return rows
  }

  async #do<T>(work: (connection: SqliteConnection) => T): Promise<T> {
    if (this.#isOver) throw new TypeError('the transaction has ended')
    try {
      return work(this.#connection)
    } catch (error) {
      this.#failure ??= error
      throw error
    }
  }
}

const pageBytes = 4096

function pagesOf(row: readonly Scalar[]): number {
  const bytes = row.reduce<number>(
    (sum, value) => sum + (value instanceof Uint8Array ? value.byteLength : 0),
    0,
  )
  return Math.floor(bytes / pageBytes)
}
