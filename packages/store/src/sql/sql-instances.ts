import type { Instance, InstanceReads, InstanceWrites } from '@sallyport/core'
import type { InstanceId } from '@sallyport/protocol'
import { instances } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, select } from './statements.ts'

const all = select(instances, 'ORDER BY id')
const renew = insert(instances, 'ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until')

export class SqlInstanceReads implements InstanceReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  list(): Promise<Instance[]> {
    return readAll(this.#db, instances, all, [])
  }
}

export class SqlInstanceWrites extends SqlInstanceReads implements InstanceWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async renew(instance: Instance): Promise<void> {
    await this.#tx.run(renew, instances.keep(instance))
  }

  async end(id: InstanceId): Promise<void> {
    await this.#tx.run('DELETE FROM instances WHERE id = $1', [id])
  }
}
