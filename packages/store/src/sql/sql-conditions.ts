import type { ConditionReads, ConditionWrites, ToldCondition } from '@sallyport/core'
import { toldConditions } from '../rows/service-tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, select } from './statements.ts'

const all = select(
  toldConditions,
  `WHERE connection_id IN (SELECT id FROM connections WHERE state <> 'deleted') ORDER BY connection_id`,
)
const insertNew = insert(toldConditions, 'ON CONFLICT DO NOTHING')
const replace = `UPDATE told_conditions SET condition = $2, code = $3, since = $4
  WHERE connection_id = $1 AND condition = $5 AND since = $6`

export class SqlConditionReads implements ConditionReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  list(): Promise<ToldCondition[]> {
    return readAll(this.#db, toldConditions, all, [])
  }
}

export class SqlConditionWrites extends SqlConditionReads implements ConditionWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async put(told: ToldCondition, before: ToldCondition | undefined): Promise<boolean> {
    const kept = toldConditions.keep(told)
    const written = before
      ? await this.#tx.run(replace, [...kept, before.condition, before.since])
      : await this.#tx.run(insertNew, kept)
    return written === 1
  }
}
