import type { Store, Tx } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import type { Pool, PoolClient } from 'pg'
import { Lifetime } from '../lifetime.ts'
import { postgresMigrations } from '../migrations/migrations.ts'
import type { SqlReader } from '../sql/driver.ts'
import { sqlReads, sqlTx } from '../sql/sql-nouns.ts'
import { connectPostgres, type PostgresOptions, prepared } from './connect-postgres.ts'
import { migratePostgres } from './migrate-postgres.ts'
import { fromPostgres } from './postgres-error.ts'
import { PostgresListener } from './postgres-listener.ts'
import { PostgresLocks } from './postgres-locks.ts'
import { PostgresTx } from './postgres-tx.ts'

/**
 * Opens the store that several gateways share and brings its schema up to date. Throws `not_durable` when the server was
 * told not to keep what it confirms, `schema_too_new`, `migration_changed`, `store_unavailable`.
 */
export async function openPostgresStore(options: PostgresOptions): Promise<Store> {
  const pool = connectPostgres(options)
  try {
    await withClient(pool, async (client) => {
      await checkDurability(client)
      await migratePostgres(client, options.schema, postgresMigrations)
    })
    return postgresStore(pool, new PostgresListener(options))
  } catch (error) {
    await pool.end()
    throw error instanceof SallyportError ? error : fromPostgres(error)
  }
}

function postgresStore(pool: Pool, listener: PostgresListener): Store {
  const lifetime = new Lifetime()
  const committed: SqlReader = {
    rows: (sql, params) =>
      lifetime.run(async () => {
        try {
          return (await pool.query<unknown[]>(prepared(sql, params))).rows
        } catch (error) {
          throw fromPostgres(error)
        }
      }),
  }
  let closing: Promise<void> | undefined
  return {
    engine: 'postgres',
    ...sqlReads(committed),
    transact: (work, options) =>
      lifetime.run(() => transaction(pool, work, options?.flush === 'later')),
    listen: (heard) => {
      lifetime.check()
      return listener.listen(heard)
    },
    ping: async () => {
      await committed.rows('SELECT 1', [])
    },
    close: () => {
      closing ??= Promise.all([listener.end(), lifetime.close()]).then(() => pool.end())
      return closing
    },
  }
}

const begin = 'BEGIN ISOLATION LEVEL READ COMMITTED'
/** The server answers before it has flushed; what it confirmed survives us, not the server's own power cut. */
const beginUnflushed = `${begin}; SET LOCAL synchronous_commit = off`

async function transaction<T>(
  pool: Pool,
  work: (tx: Tx) => Promise<T>,
  unflushed: boolean,
): Promise<T> {
  const client = await connect(pool)
  const tx = new PostgresTx(client)
  try {
    await tx.sendText(unflushed ? beginUnflushed : begin).catch((error) => {
      throw fromPostgres(error)
    })
    const result = await work(sqlTx(tx, new PostgresLocks(tx)))
    tx.end()
    await commit(tx)
    client.release()
    return result
  } catch (error) {
    tx.abandon()
    await rollBack(client)
    throw error
  }
}

/** Throws `store_unavailable` for every end but a clear one: the rows may be there or not. */
async function commit(tx: PostgresTx): Promise<void> {
  try {
    const { command } = await tx.sendText('COMMIT')
    // A transaction that had failed is answered with ROLLBACK, not with an error.
    if (command !== 'COMMIT') throw new Error(`the server answered ${command}`)
  } catch (cause) {
    throw new SallyportError('store_unavailable', { cause })
  }
}

async function rollBack(client: PoolClient): Promise<void> {
  try {
    await client.query('ROLLBACK')
    client.release()
  } catch {
    // The connection is of no more use, and its end rolls back.
    client.release(true)
  }
}

async function connect(pool: Pool): Promise<PoolClient> {
  try {
    return await pool.connect()
  } catch (error) {
    throw fromPostgres(error)
  }
}

async function withClient<T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> {
  const client = await connect(pool)
  try {
    return await work(client)
  } finally {
    client.release()
  }
}

async function checkDurability(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    `SELECT name FROM pg_settings WHERE setting = 'off'
     AND name IN ('fsync', 'full_page_writes', 'synchronous_commit')`,
  )
  if (rows.length > 0) {
    const cause = new Error(`the server has ${rows.map(({ name }) => name).join(', ')} off`)
    throw new SallyportError('not_durable', { cause })
  }
}
