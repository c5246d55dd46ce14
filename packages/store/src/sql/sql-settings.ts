import type { Setting, SettingReads, SettingWrites } from '@sallyport/core'
import { settings } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

/** A setting that is not set keeps its row, so that a barrier can hold the pause also while there is none. */
const byName = select(settings, 'WHERE name = $1 AND value IS NOT NULL')
const all = select(settings, 'WHERE value IS NOT NULL ORDER BY name')
const set = insert(
  settings,
  'ON CONFLICT (name) DO UPDATE SET value = excluded.value, by = excluded.by, at = excluded.at',
)

export class SqlSettingReads implements SettingReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(name: string): Promise<Setting | undefined> {
    return readOne(this.#db, settings, byName, [keepText(name)])
  }

  list(): Promise<Setting[]> {
    return readAll(this.#db, settings, all, [])
  }
}

export class SqlSettingWrites extends SqlSettingReads implements SettingWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async set(setting: Setting): Promise<void> {
    await this.#tx.run(set, settings.keep(setting))
  }

  async unset(name: string): Promise<boolean> {
    const sql = 'UPDATE settings SET value = NULL WHERE name = $1 AND value IS NOT NULL'
    return (await this.#tx.run(sql, [keepText(name)])) === 1
  }
}
