import type { Migration } from './migration.ts'

/** Of sign-ins of before nobody knows which hosts they were at: the next one is believed. */
export const postgres009: Migration = {
  number: 9,
  name: 'sign-ins',
  sql: `
ALTER TABLE oauth_connections ADD COLUMN server text COLLATE "C";
ALTER TABLE oauth_flows ADD COLUMN finisher text COLLATE "C";
CREATE INDEX oauth_flows_open ON oauth_flows (id) WHERE state IN ('waiting', 'finishing');
ALTER TABLE refresh_leases ADD COLUMN is_unclear bigint NOT NULL DEFAULT 0;
`,
}
