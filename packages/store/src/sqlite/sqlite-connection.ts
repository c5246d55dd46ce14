import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Scalar } from '../rows/column.ts'
import { settings } from '../rows/tables.ts'
import { authorityTables } from '../sql/authority.ts'
import type { Kept, Param } from '../sql/driver.ts'
import { fromSqlite, isUniqueViolation } from './sqlite-error.ts'
import { translate } from './translate.ts'

/** How long another program that writes into the file is waited for; the event loop stands still meanwhile. */
const busyMs = 200

/** One connection with its prepared statements. Every method is synchronous and throws as `fromSqlite` says. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, Prepared>()
  #wrote = new Set<string>()

  constructor(file: string, readOnly: boolean) {
    try {
      this.#db = new DatabaseSync(file, { readOnly, timeout: busyMs })
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  rows(sql: string, params: readonly Param[]): readonly Kept[] {
    try {
      const rows: unknown = this.#prepared(sql).statement.all(...params.map(bound))
      return rows as Kept[]
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  run(sql: string, params: readonly Param[]): number {
    try {
      return this.#write(sql, params)
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  /** Undefined when a unique index refuses; the statement then did nothing. */
  attempt(sql: string, params: readonly Param[]): number | undefined {
    try {
      return this.#write(sql, params)
    } catch (error) {
      if (isUniqueViolation(error)) return undefined
      throw fromSqlite(error)
    }
  }

  /** Several statements, without parameters or rows. */
  exec(sql: string): void {
    try {
      this.#db.exec(sql)
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  /** The tables that statements wrote into since this was taken last, among those whose rows are remembered. */
  get wrote(): ReadonlySet<string> {
    return this.#wrote
  }

  takeWrote(): ReadonlySet<string> {
    const wrote = this.#wrote
    if (wrote.size > 0) this.#wrote = new Set()
    return wrote
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #write(sql: string, params: readonly Param[]): number {
    const { statement, writes } = this.#prepared(sql)
    if (writes !== undefined) this.#wrote.add(writes)
    return Number(statement.run(...params.map(bound)).changes)
  }

  #prepared(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (!prepared) {
      const statement = this.#db.prepare(translate(sql))
      statement.setReturnArrays(true)
      prepared = { statement, writes: rememberedWrites.exec(sql)?.[1] }
      this.#statements.set(sql, prepared)
    }
    return prepared
  }
}

interface Prepared {
  readonly statement: StatementSync
  /** The table, when its rows are remembered. */
  readonly writes: string | undefined
}

const remembered = [...Object.values(authorityTables), settings].map(({ name }) => name)
const rememberedWrites = new RegExp(
  `^\\s*(?:INSERT\\s+INTO|UPDATE|DELETE\\s+FROM)\\s+(${remembered.join('|')})\\b`,
  'i',
)

function bound(param: Param): Scalar {
  return Array.isArray(param) ? JSON.stringify(param) : (param as Scalar)
}
