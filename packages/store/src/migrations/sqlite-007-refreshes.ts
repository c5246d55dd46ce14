import type { Migration } from './migration.ts'

/** A lease of before names no order that could be asked about: it goes, and the next refresh tells. */
export const sqlite007: Migration = {
  number: 7,
  name: 'refreshes',
  sql: `
ALTER TABLE oauth_connections ADD COLUMN scope_required TEXT NOT NULL DEFAULT '[]';
DELETE FROM refresh_leases;
ALTER TABLE refresh_leases ADD COLUMN credential_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE refresh_leases ADD COLUMN intent_id TEXT NOT NULL DEFAULT '';
ALTER TABLE refresh_leases ADD COLUMN worker_instance TEXT NOT NULL DEFAULT '';
ALTER TABLE refresh_leases ADD COLUMN issued_at INTEGER NOT NULL DEFAULT 0;
`,
}
