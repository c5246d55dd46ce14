import type { Migration } from './migration.ts'
import { postgres001 } from './postgres-001-first.ts'
import { postgres002 } from './postgres-002-journal.ts'
import { sqlite001 } from './sqlite-001-first.ts'
import { sqlite002 } from './sqlite-002-journal.ts'

/** By number, from 1, without a gap. */
export const sqliteMigrations: readonly Migration[] = [sqlite001, sqlite002]
export const postgresMigrations: readonly Migration[] = [postgres001, postgres002]
