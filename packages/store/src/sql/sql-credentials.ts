import type { Credential, CredentialReads, CredentialWrites } from '@sallyport/core'
import type { CredentialId } from '@sallyport/protocol'
import { credentials } from '../rows/tables.ts'
import { mustNotLower } from '../rows/version.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readOne, replace, select } from './statements.ts'

const byId = select(credentials, 'WHERE id = $1')
const insertNew = insert(credentials, 'ON CONFLICT (id) DO NOTHING')
/** In the same version only what is beside the secret changes: whoever sealed it again meanwhile was first. */
const replaceVersion = replace(
  credentials,
  `version = $${credentials.columns.length + 1} AND (version < $3 OR seal = $5)`,
)

export class SqlCredentialReads implements CredentialReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: CredentialId): Promise<Credential | undefined> {
    return readOne(this.#db, credentials, byId, [id])
  }
}

export class SqlCredentialWrites extends SqlCredentialReads implements CredentialWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(credential: Credential): Promise<boolean> {
    return (await this.#tx.run(insertNew, credentials.keep(credential))) === 1
  }

  async update(credential: Credential, expectedVersion: number): Promise<boolean> {
    mustNotLower(credential.version, expectedVersion)
    const kept = credentials.keep(credential)
    return (await this.#tx.run(replaceVersion, [...kept, expectedVersion])) === 1
  }
}
