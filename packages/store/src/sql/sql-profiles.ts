import type { Profile, ProfileReads, ProfileWrites } from '@sallyport/core'
import type { ProfileId } from '@sallyport/protocol'
import { profiles } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const byId = select(profiles, 'WHERE id = $1')
const byName = select(profiles, 'WHERE name = $1')
const all = select(profiles, 'ORDER BY name')
const insertNew = insert(profiles, 'ON CONFLICT (name) DO NOTHING')

export class SqlProfileReads implements ProfileReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: ProfileId): Promise<Profile | undefined> {
    return readOne(this.#db, profiles, byId, [id])
  }

  byName(name: string): Promise<Profile | undefined> {
    return readOne(this.#db, profiles, byName, [keepText(name)])
  }

  list(): Promise<Profile[]> {
    return readAll(this.#db, profiles, all, [])
  }
}

export class SqlProfileWrites extends SqlProfileReads implements ProfileWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(profile: Profile): Promise<boolean> {
    return (await this.#tx.run(insertNew, profiles.keep(profile))) === 1
  }
}
