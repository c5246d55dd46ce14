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
  readonly #statements = new Map<string, Prepared>()
  #wroteSessions = false

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

  /** Whether a statement wrote into the sessions since this was asked last. */
  takeWroteSessions(): boolean {
    const wrote = this.#wroteSessions
    this.#wroteSessions = false
    return wrote
  }

  get isInTransaction(): boolean {
    return this.#db.isTransaction
  }

  close(): void {
    if (this.#db.isOpen) this.#db.close()
  }

  #write(sql: string, params: readonly Param[]): number {
    const { statement, writesSessions } = this.#prepared(sql)
    if (writesSessions) this.#wroteSessions = true
    return Number(statement.run(...params.map(bound)).changes)
  }

  #prepared(sql: string): Prepared {
    let prepared = this.#statements.get(sql)
    if (!prepared) {
      const statement = this.#db.prepare(translate(sql))
      statement.setReturnArrays(true)
      prepared = { statement, writesSessions: sessionWrites.test(sql) }
      this.#statements.set(sql, prepared)
    }
    return prepared
  }
}

interface Prepared {
  readonly statement: StatementSync
  readonly writesSessions: boolean
}

const sessionWrites = /^\s*(?:INSERT\s+INTO|UPDATE|DELETE\s+FROM)\s+sessions\b/i

function bound(param: Param): Scalar {
  return param === null || typeof param !== 'object' ? param : JSON.stringify(param)
}
