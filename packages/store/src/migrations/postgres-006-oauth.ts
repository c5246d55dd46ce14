import type { Migration } from './migration.ts'

/** Connections of before have no authorization server. */
export const postgres006: Migration = {
  number: 6,
  name: 'oauth',
  sql: `
CREATE TABLE oauth_connections (
  connection_id text COLLATE "C" NOT NULL PRIMARY KEY,
  grant_type text COLLATE "C" NOT NULL,
  scope_wanted text COLLATE "C" NOT NULL,
  client_id text COLLATE "C",
  issuer text COLLATE "C",
  places text COLLATE "C" NOT NULL
);
CREATE TABLE oauth_clients (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  connection_id text COLLATE "C",
  scope text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  issuer text COLLATE "C",
  seal text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE INDEX oauth_registrations ON oauth_clients (scope, id) WHERE connection_id IS NULL;
CREATE TABLE oauth_flows (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  state_hash text COLLATE "C" NOT NULL UNIQUE,
  state text COLLATE "C" NOT NULL,
  connection_id text COLLATE "C" NOT NULL,
  connection_revision bigint NOT NULL,
  user_id text COLLATE "C" NOT NULL,
  credential_id text COLLATE "C",
  fresh_credential_id text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  pending text COLLATE "C" NOT NULL,
  code text COLLATE "C",
  account text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint NOT NULL
);
CREATE INDEX oauth_flows_by_end ON oauth_flows (expires_at);
CREATE TABLE refresh_leases (
  credential_id text COLLATE "C" NOT NULL PRIMARY KEY,
  holder text COLLATE "C" NOT NULL,
  lease_until bigint NOT NULL
);
`,
}
