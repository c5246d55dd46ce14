import type { Migration } from './migration.ts'
import { postgres001 } from './postgres-001-first.ts'
import { sqlite001 } from './sqlite-001-first.ts'

/** By number, from 1, without a gap. */
export const sqliteMigrations: readonly Migration[] = [sqlite001]
export const postgresMigrations: readonly Migration[] = [postgres001]
