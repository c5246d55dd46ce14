import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Scalar } from '../rows/column.ts'
import type { Kept, Param } from '../sql/driver.ts'
import { fromSqlite, isUniqueViolation } from './sqlite-error.ts'
import { translate } from './translate.ts'

/** How long another program that writes into the file is waited for; the event loop stands still meanwhile. */
const busyMs = 200

/** One connection with its prepared statements. Every method is synchronous and throws as `fromSqlite` says. */
export class SqliteConnection {
  readonly #db: DatabaseSync
  readonly #statements = new Map<string, StatementSync>()

  constructor(file: string, readOnly: boolean) {
    try {
      this.#db = new DatabaseSync(file, { readOnly, timeout: busyMs })
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  rows(sql: string, params: readonly Param[]): readonly Kept[] {
    try {
      const rows: unknown = this.#prepared(sql).all(...params.map(bound))
      return rows as Kept[]
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  run(sql: string, params: readonly Param[]): number {
    try {
      return Number(this.#prepared(sql).run(...params.map(bound)).changes)
    } catch (error) {
      throw fromSqlite(error)
    }
  }

  /** Undefined when a unique index refuses; the statement then did nothing. */
  attempt(sql: string, params: readonly Param[]): number | undefined {
    try {
      return Number(this.#prepared(sql).run(...params.map(bound)).changes)
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

  get isInTransaction(): boolean {
    return this.#db.isTransaction
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #prepared(sql: string): StatementSync {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = this.#db.prepare(translate(sql))
      statement.setReturnArrays(true)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function bound(param: Param): Scalar {
  return param === null || typeof param !== 'object' ? param : JSON.stringify(param)
}
