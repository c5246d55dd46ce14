import type { PoolClient, QueryConfig } from 'pg'
import {
  checksum,
  createAppliedMigrations,
  insertAppliedMigration,
  type Migration,
  pending,
  selectAppliedMigrations,
} from '../migrations/migration.ts'

interface AppliedRow {
  readonly number: number
  readonly checksum: string
}

/** Brings the schema up to date, in one transaction; gateways that start together do it one after the other. */
export async function migratePostgres(
  client: PoolClient,
  schema: string | undefined,
  known: readonly Migration[],
): Promise<void> {
  await client.query('BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0')
  try {
    const lock = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'
    await client.query(patiently(lock, `sallyport migrations ${schema ?? ''}`))
    if (schema !== undefined) await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
    await client.query(createAppliedMigrations)
    const applied = await client.query<AppliedRow>(selectAppliedMigrations)
    for (const migration of pending(known, applied.rows)) {
      await client.query(patiently(migration.sql))
      const { number, name } = migration
      await client.query(insertAppliedMigration, [number, name, checksum(migration)])
    }
    await client.query('COMMIT')
  } catch (error) {
    await client.query('ROLLBACK')
    throw error
  }
}

/** A migration may rewrite a table of many rows, and other gateways wait for the one that is at it. */
function patiently(text: string, ...values: string[]): QueryConfig {
  return { text, ...(values.length > 0 && { values }), query_timeout: 3_600_000 } as QueryConfig
}
