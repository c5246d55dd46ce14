import type { Service, ServiceReads, ServiceWrites } from '@sallyport/core'
import type { ServiceId } from '@sallyport/protocol'
import { services } from '../rows/service-tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const byName = select(services, 'WHERE name = $1')
const locked = select(services, 'WHERE name = $1 FOR KEY SHARE')
const all = select(services, 'ORDER BY name')
const insertNew = insert(services, 'ON CONFLICT (name) DO NOTHING')
const dropClient = `DELETE FROM oauth_clients WHERE connection_id = $1
  AND NOT EXISTS (SELECT 1 FROM oauth_connections WHERE client_id = oauth_clients.id)`

export class SqlServiceReads implements ServiceReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  byName(name: string): Promise<Service | undefined> {
    return readOne(this.#db, services, byName, [keepText(name)])
  }

  list(): Promise<Service[]> {
    return readAll(this.#db, services, all, [])
  }
}

export class SqlServiceWrites extends SqlServiceReads implements ServiceWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(service: Service): Promise<boolean> {
    return (await this.#tx.run(insertNew, services.keep(service))) === 1
  }

  lock(name: string): Promise<Service | undefined> {
    return readOne(this.#tx, services, locked, [keepText(name)])
  }

  async remove(id: ServiceId): Promise<boolean> {
    const removed = await this.#tx.run('DELETE FROM services WHERE id = $1', [id])
    await this.#tx.run(dropClient, [id])
    return removed === 1
  }
}
