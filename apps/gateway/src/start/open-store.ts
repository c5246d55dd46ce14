import { join } from 'node:path'
import type { OnFatal, Store } from '@sallyport/core'
import { openPostgresStore, openSqliteStore } from '@sallyport/store'
import type { UpOptions } from './options.ts'

/** The embedded database in the data folder, or Postgres. */
export async function openStore(
  { dataDir, databaseUrl }: Pick<UpOptions, 'dataDir' | 'databaseUrl'>,
  onFatal: OnFatal,
): Promise<Store> {
  if (databaseUrl !== undefined) return await openPostgresStore({ url: databaseUrl })
  return await openSqliteStore({ file: join(dataDir, 'sallyport.db'), now: Date.now, onFatal })
}
