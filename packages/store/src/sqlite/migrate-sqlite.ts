import {
  checksum,
  createAppliedMigrations,
  insertAppliedMigration,
  type Migration,
  pending,
  selectAppliedMigrations,
} from '../migrations/migration.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

/** Brings the schema up to date, in one transaction. Throws as `pending` does. */
export function migrateSqlite(connection: SqliteConnection, known: readonly Migration[]): void {
  connection.exec('BEGIN IMMEDIATE')
  try {
    connection.exec(createAppliedMigrations)
    const applied = connection
      .rows(selectAppliedMigrations, [])
      .map(([number, sum]) => ({ number: number as number, checksum: sum as string }))
    for (const migration of pending(known, applied)) {
      connection.exec(migration.sql)
      connection.run(insertAppliedMigration, [
        migration.number,
        migration.name,
        checksum(migration),
      ])
    }
    connection.exec('COMMIT')
  } catch (error) {
    if (connection.isInTransaction) connection.exec('ROLLBACK')
    throw error
  }
}
