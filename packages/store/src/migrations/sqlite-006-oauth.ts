import type { Migration } from './migration.ts'

/** Connections of before have no authorization server. */
export const sqlite006: Migration = {
  number: 6,
  name: 'oauth',
  sql: `
CREATE TABLE oauth_connections (
  connection_id TEXT NOT NULL PRIMARY KEY,
  grant_type TEXT NOT NULL,
  scope_wanted TEXT NOT NULL,
  client_id TEXT,
  issuer TEXT,
  places TEXT NOT NULL
) STRICT;
CREATE TABLE oauth_clients (
  id TEXT NOT NULL PRIMARY KEY,
  connection_id TEXT,
  scope TEXT NOT NULL,
  version INTEGER NOT NULL,
  issuer TEXT,
  seal TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_registrations ON oauth_clients (scope, id) WHERE connection_id IS NULL;
CREATE TABLE oauth_flows (
  id TEXT NOT NULL PRIMARY KEY,
  state_hash TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  connection_revision INTEGER NOT NULL,
  user_id TEXT NOT NULL,
  credential_id TEXT,
  fresh_credential_id TEXT NOT NULL,
  issuer TEXT NOT NULL,
  pending TEXT NOT NULL,
  code TEXT,
  account TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oauth_flows_by_end ON oauth_flows (expires_at);
CREATE TABLE refresh_leases (
  credential_id TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  lease_until INTEGER NOT NULL
) STRICT;
`,
}
