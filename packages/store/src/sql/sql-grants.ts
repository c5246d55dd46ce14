import type { Grant, GrantReads, GrantWrites } from '@sallyport/core'
import type { GrantId, ProfileId } from '@sallyport/protocol'
import { grants } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const byId = select(grants, 'WHERE id = $1')
const ofProfile = select(
  grants,
  'WHERE profile_id = $1 AND revoked_at IS NULL ORDER BY connection_id, tool',
)
const insertNew = insert(
  grants,
  'ON CONFLICT (profile_id, connection_id, tool) WHERE revoked_at IS NULL DO NOTHING',
)

export class SqlGrantReads implements GrantReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: GrantId): Promise<Grant | undefined> {
    return readOne(this.#db, grants, byId, [id])
  }

  ofProfile(profileId: ProfileId): Promise<Grant[]> {
    return readAll(this.#db, grants, ofProfile, [profileId])
  }
}

export class SqlGrantWrites extends SqlGrantReads implements GrantWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(grant: Grant): Promise<boolean> {
    return (await this.#tx.run(insertNew, grants.keep(grant))) === 1
  }

  async revoke(id: GrantId, at: number): Promise<boolean> {
    const sql = 'UPDATE grants SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
    return (await this.#tx.run(sql, [id, at])) === 1
  }
}
