import type { PoolClient } from 'pg'
import type { Scalar } from '../rows/column.ts'
import type { Shape } from '../rows/table.ts'
import type { Kept, Param, SqlWriter, Swap, Update } from '../sql/driver.ts'
import { perShape } from '../sql/statements.ts'
import { allInOrder } from './all-in-order.ts'
import { prepared } from './connect-postgres.ts'
import { fromPostgres, isUniqueViolation } from './postgres-error.ts'

const arrays = {
  text: 'text[]',
  integer: 'bigint[]',
  real: 'double precision[]',
  bytes: 'bytea[]',
} as const

const holdKey = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || ' ' || $1, 0))"
const lockOfKey = "hashtextextended(current_schema() || ' write ' || key, 0)"
const tryWriteKeys = `SELECT key FROM unnest($1::text[]) AS key
  WHERE pg_try_advisory_xact_lock(${lockOfKey})`
/** In one order, whatever the keys are: by the number of the lock. */
const waitForWriteKeys = `SELECT pg_advisory_xact_lock(number) FROM (
  SELECT DISTINCT ${lockOfKey} AS number FROM unnest($1::text[]) AS key ORDER BY 1) AS locks`
const takenWriteKeys = `SELECT write_key FROM executions
  WHERE write_key = ANY($1) AND state IN ('dispatching', 'unknown')`

/** Statements of one transaction, on its own connection. */
export class PostgresTx implements SqlWriter {
  readonly #client: PoolClient
  #failure: unknown
  #isOver = false

  constructor(client: PoolClient) {
    this.#client = client
  }

  /** Ends its use. Throws what failed in it, also when `work` went on: the server has rolled it back then. */
  end(): void {
    this.#isOver = true
    if (this.#failure) throw this.#failure
  }

  /** Ends its use after `work` threw. */
  abandon(): void {
    this.#isOver = true
  }

  async rows(sql: string, params: readonly Param[]): Promise<readonly Kept[]> {
    return (await this.#do(() => this.send(sql, params))).rows
  }

  async run(sql: string, params: readonly Param[]): Promise<number> {
    return (await this.#do(() => this.send(sql, params))).rowCount ?? 0
  }

  async attempt(sql: string, params: readonly Param[]): Promise<number | undefined> {
    try {
      return await this.saved(async () => (await this.send(sql, params)).rowCount ?? 0)
    } catch (error) {
      if (isUniqueViolation(error)) return undefined
      throw this.fail(error)
    }
  }

  async insertAll(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<void> {
    if (rows.length > 0) await this.run(insertRows(shape), byColumn(shape, rows))
  }

  async insertNew(shape: Shape, rows: readonly (readonly Scalar[])[]): Promise<Set<unknown>> {
    if (rows.length === 0) return new Set()
    const inserted = await this.rows(insertNewRows(shape), byColumn(shape, rows))
    return new Set(inserted.map(([key]) => key))
  }

  async updateAll(update: Update, rows: readonly (readonly Scalar[])[]): Promise<number> {
    if (rows.length === 0) return 0
    return this.run(updateRows(update), byColumn(update, rows))
  }

  async swapAll(swap: Swap, rows: readonly (readonly Scalar[])[]): Promise<boolean[]> {
    if (rows.length === 0) return []
    const [, swapped] = await Promise.all([
      this.rows(lockRows(swap), [rows.map(([id]) => id ?? null)]),
      this.rows(swapRows(swap), byColumn(swap, rows)),
    ])
    const ids = new Set(swapped.map(([id]) => id))
    return rows.map(([id]) => ids.has(id))
  }

  async holdKey(key: string): Promise<void> {
    await this.rows(holdKey, [key])
  }

  async holdTable(name: string): Promise<void> {
    await this.#do(() => this.sendText(`LOCK TABLE ${name} IN SHARE MODE`))
  }

  async holdWriteKeys(keys: readonly string[], how: 'try' | 'wait'): Promise<ReadonlySet<string>> {
    if (keys.length === 0) return new Set()
    if (how === 'try')
      return new Set((await this.rows(tryWriteKeys, [keys])).map(([key]) => key as string))
    await this.rows(waitForWriteKeys, [keys])
    return new Set(keys)
  }

  /**
   * Whoever inserts a key holds its lock until the commit is seen, so that inserting never waits for another's row, and
   * two groups with the same keys in different orders cannot wait for each other.
   */
  async freeWriteKeys(keys: readonly string[]): Promise<ReadonlySet<string>> {
    if (keys.length === 0) return new Set()
    const [held, taken] = await Promise.all([
      this.holdWriteKeys(keys, 'try'),
      this.rows(takenWriteKeys, [keys]),
    ])
    const used = new Set(taken.map(([key]) => key))
    return new Set([...held].filter((key) => !used.has(key)))
  }

  /**
   * Runs `work` between a savepoint and its release; when it throws, all of it is undone and the transaction lives. What
   * `work` sends at once travels with the savepoint.
   */
  async saved<T>(work: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new TypeError('the transaction has ended')
    try {
      const [, result] = await allInOrder([this.sendText('SAVEPOINT here'), work()])
      await this.sendText('RELEASE SAVEPOINT here')
      return result
    } catch (error) {
      await this.#do(() => this.sendText('ROLLBACK TO SAVEPOINT here'))
      throw error
    }
  }

  /** Sends a statement; whoever calls it judges the failure. */
  send(sql: string, params: readonly Param[]) {
    return this.#client.query<unknown[]>(prepared(sql, params))
  }

  /** Several statements without parameters. */
  sendText(sql: string) {
    return this.#client.query<unknown[]>({ text: sql, rowMode: 'array' })
  }

  /** Remembers that the transaction can only be rolled back. */
  fail(error: unknown): Error {
    const failure = fromPostgres(error)
    this.#failure ??= failure
    return failure
  }

  async #do<T>(statement: () => Promise<T>): Promise<T> {
    if (this.#isOver) throw new TypeError('the transaction has ended')
    try {
      return await statement()
    } catch (error) {
      throw this.fail(error)
    }
  }
}

const insertRows = perShape((shape) => {
  const columns = shape.columns.join(', ')
  return `INSERT INTO ${shape.name} (${columns})
    SELECT ${columns} FROM ${unnested(shape)} WITH ORDINALITY AS given (${columns}, place)
    ORDER BY place`
})
const insertNewRows = perShape(
  (shape) => `${insertRows(shape)} ON CONFLICT DO NOTHING RETURNING ${shape.columns[0]}`,
)
const updateRows = perShape<Update>((update) => {
  const { name, columns, keys } = update
  const set = columns.slice(keys).map((column) => `${column} = given.${column}`)
  const same = columns.slice(0, keys).map((column) => `${name}.${column} = given.${column}`)
  return `UPDATE ${name} SET ${set.join(', ')}
    FROM ${unnested(update)} AS given (${columns.join(', ')})
    WHERE ${same.join(' AND ')}`
})

/** By id, first: an update alone takes them in any order. */
const lockRows = perShape<Swap>(({ name, columns: [key] }) => {
  return `SELECT ${key} FROM ${name} WHERE ${key} = ANY($1) ORDER BY ${key} FOR NO KEY UPDATE`
})
const swapRows = perShape<Swap>((swap) => {
  const { name, columns, set, guard } = swap
  const same = `${name}.${columns[0]} = given.${columns[0]}`
  return `UPDATE ${name} SET ${set} FROM ${unnested(swap)} AS given (${columns.join(', ')})
    WHERE ${same} AND ${guard} RETURNING ${name}.${columns[0]}`
})

function unnested(shape: Shape): string {
  return `unnest(${shape.types.map((type, i) => `$${i + 1}::${arrays[type]}`).join(', ')})`
}

function byColumn(shape: Shape, rows: readonly (readonly Scalar[])[]): Scalar[][] {
  return shape.columns.map((_, column) => rows.map((row) => row[column] ?? null))
}
