/**
 * The store: memory, SQLite and Postgres behind the one contract of core. It keeps rows and gives them back as they were;
 * it decides nothing and must never open a seal.
 */
export { openMemoryStore } from './memory/open-memory-store.ts'
export type { PostgresOptions } from './postgres/connect-postgres.ts'
export { openPostgresStore } from './postgres/open-postgres-store.ts'
export { type DataFolderLock, lockDataFolder } from './sqlite/lock-data-folder.ts'
export { openSqliteStore, type SqliteOptions } from './sqlite/open-sqlite-store.ts'
