/** Migrations go forward only. One that was applied is never edited: its checksum is kept beside its number. */
import { SallyportError } from '@sallyport/protocol'
import { digestBytes } from '@sallyport/protocol/node'

export interface Migration {
  readonly number: number
  readonly name: string
  readonly sql: string
}

export interface AppliedMigration {
  readonly number: number
  readonly checksum: string
}

export function checksum({ sql }: Migration): string {
  return digestBytes(sql)
}

/**
 * What is still to be applied, in order. Throws `schema_too_new` when a later release was here, `migration_changed` when
 * one that was applied is not the one in this release.
 */
export function pending(
  known: readonly Migration[],
  applied: readonly AppliedMigration[],
): readonly Migration[] {
  const last = known.length
  if (applied.some(({ number }) => number > last)) throw new SallyportError('schema_too_new')
  const sums = new Map(applied.map(({ number, checksum }) => [number, checksum]))
  const changed = known.some((migration) => {
    const sum = sums.get(migration.number)
    return sum !== undefined && sum !== checksum(migration)
  })
  const gap = applied.some(({ number }) => number > applied.length)
  if (changed || gap) throw new SallyportError('migration_changed')
  return known.slice(applied.length)
}

/** The same for both engines. */
export const createAppliedMigrations = `CREATE TABLE IF NOT EXISTS applied_migrations (
  number INTEGER NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  checksum TEXT NOT NULL
)`
export const selectAppliedMigrations =
  'SELECT number, checksum FROM applied_migrations ORDER BY number'
export const insertAppliedMigration =
  'INSERT INTO applied_migrations (number, name, checksum) VALUES ($1, $2, $3)'
