import type { KnownKey, KnownKeyReads, KnownKeyWrites } from '@sallyport/core'
import { vaultKeys } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, replace, select } from './statements.ts'

const all = select(vaultKeys, 'ORDER BY position DESC')
const held = select(vaultKeys, 'WHERE kid = $1 FOR SHARE')
const locked = select(vaultKeys, 'WHERE kid = $1 FOR NO KEY UPDATE')
const insertNew = insert(vaultKeys, 'ON CONFLICT DO NOTHING')
const replaceAny = replace(vaultKeys, 'kid IS NOT NULL')

export class SqlKnownKeyReads implements KnownKeyReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  list(): Promise<KnownKey[]> {
    return readAll(this.#db, vaultKeys, all, [])
  }
}

export class SqlKnownKeyWrites extends SqlKnownKeyReads implements KnownKeyWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  hold(kid: string): Promise<KnownKey | undefined> {
    return readOne(this.#tx, vaultKeys, held, [keepText(kid)])
  }

  lock(kid: string): Promise<KnownKey | undefined> {
    return readOne(this.#tx, vaultKeys, locked, [keepText(kid)])
  }

  async insert(key: KnownKey): Promise<boolean> {
    return (await this.#tx.run(insertNew, vaultKeys.keep(key))) === 1
  }

  async update(key: KnownKey): Promise<void> {
    await this.#tx.run(replaceAny, vaultKeys.keep(key))
  }
}
