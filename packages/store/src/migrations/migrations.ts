import type { Migration } from './migration.ts'
import { postgres001 } from './postgres-001-first.ts'
import { postgres002 } from './postgres-002-journal.ts'
import { postgres003 } from './postgres-003-approvals.ts'
import { postgres004 } from './postgres-004-vault-keys.ts'
import { postgres005 } from './postgres-005-sandboxes.ts'
import { postgres006 } from './postgres-006-oauth.ts'
import { postgres007 } from './postgres-007-refreshes.ts'
import { postgres008 } from './postgres-008-services.ts'
import { postgres009 } from './postgres-009-sign-ins.ts'
import { postgres010 } from './postgres-010-gone-webhooks.ts'
import { sqlite001 } from './sqlite-001-first.ts'
import { sqlite002 } from './sqlite-002-journal.ts'
import { sqlite003 } from './sqlite-003-approvals.ts'
import { sqlite004 } from './sqlite-004-vault-keys.ts'
import { sqlite005 } from './sqlite-005-sandboxes.ts'
import { sqlite006 } from './sqlite-006-oauth.ts'
import { sqlite007 } from './sqlite-007-refreshes.ts'
import { sqlite008 } from './sqlite-008-services.ts'
import { sqlite009 } from './sqlite-009-sign-ins.ts'
import { sqlite010 } from './sqlite-010-rows-by-number.ts'
import { sqlite011 } from './sqlite-011-gone-webhooks.ts'

/** By number, from 1, without a gap. */
export const sqliteMigrations: readonly Migration[] = [
  sqlite001,
  sqlite002,
  sqlite003,
  sqlite004,
  sqlite005,
  sqlite006,
  sqlite007,
  sqlite008,
  sqlite009,
  sqlite010,
  sqlite011,
]
export const postgresMigrations: readonly Migration[] = [
  postgres001,
  postgres002,
  postgres003,
  postgres004,
  postgres005,
  postgres006,
  postgres007,
  postgres008,
  postgres009,
  postgres010,
]
