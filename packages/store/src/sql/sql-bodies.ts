import {
  type Body,
  type BodyKind,
  type BodyReads,
  type BodyWrites,
  bodyKinds,
} from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import { bodies } from '../rows/tables.ts'
import type { SqlReader, SqlWriter, Update } from './driver.ts'
import { readAll, readOne, select } from './statements.ts'

const byKey = select(bodies, 'WHERE execution_id = $1 AND kind = $2')
const due = select(bodies, 'WHERE due_at <= $1 ORDER BY due_at, execution_id, kind LIMIT $2')
const dueUpdate: Update = {
  name: bodies.name,
  columns: ['execution_id', 'kind', 'due_at'],
  types: ['text', 'text', 'integer'],
  keys: 2,
}
const deleteOfKind = 'DELETE FROM bodies WHERE execution_id = ANY($1) AND kind = $2'

type Key = Pick<Body, 'executionId' | 'kind'>

export class SqlBodyReads implements BodyReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(executionId: ExecutionId, kind: BodyKind): Promise<Body | undefined> {
    return readOne(this.#db, bodies, byKey, [executionId, kind])
  }

  due(now: number, limit: number): Promise<Body[]> {
    return readAll(this.#db, bodies, due, [now, limit])
  }
}

export class SqlBodyWrites extends SqlBodyReads implements BodyWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(rows: readonly Body[]): Promise<void> {
    await this.#tx.insertNew(bodies, rows.map(bodies.keep))
  }

  async postpone(keys: readonly Key[], dueAt: number): Promise<void> {
    const rows = keys.map(({ executionId, kind }) => [executionId, kind, dueAt])
    await this.#tx.updateAll(dueUpdate, rows)
  }

  async delete(keys: readonly Key[]): Promise<void> {
    for (const kind of bodyKinds) {
      const ids = keys.filter((key) => key.kind === kind).map(({ executionId }) => executionId)
      if (ids.length > 0) await this.#tx.run(deleteOfKind, [ids, kind])
    }
  }
}
