import type { Binding, BindingReads, BindingWrites } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { bindings } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { readAll, select } from './statements.ts'

const ofSession = select(bindings, 'WHERE session_id = $1 ORDER BY connection_name, exposed_name')

export class SqlBindingReads implements BindingReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  ofSession(sessionId: SessionId): Promise<Binding[]> {
    return readAll(this.#db, bindings, ofSession, [sessionId])
  }
}

export class SqlBindingWrites extends SqlBindingReads implements BindingWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  insert(rows: readonly Binding[]): Promise<void> {
    return this.#tx.insertAll(bindings, rows.map(bindings.keep))
  }
}
