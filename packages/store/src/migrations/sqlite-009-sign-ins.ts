import type { Migration } from './migration.ts'

/** Of sign-ins of before nobody knows which hosts they were at: the next one is believed. */
export const sqlite009: Migration = {
  number: 9,
  name: 'sign-ins',
  sql: `
ALTER TABLE oauth_connections ADD COLUMN server TEXT;
ALTER TABLE oauth_flows ADD COLUMN finisher TEXT;
CREATE INDEX oauth_flows_open ON oauth_flows (id) WHERE state IN ('waiting', 'finishing');
ALTER TABLE refresh_leases ADD COLUMN is_unclear INTEGER NOT NULL DEFAULT 0;
`,
}
