import type { Migration } from './migration.ts'

/** Text compares byte by byte (BINARY), which is code point order. */
export const sqlite001: Migration = {
  number: 1,
  name: 'first',
  sql: `
CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  disabled_at INTEGER
) STRICT;

CREATE TABLE tokens (
  id TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  label TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE INDEX tokens_user ON tokens (user_id, id);

CREATE TABLE connections (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  scope TEXT NOT NULL,
  owner_id TEXT,
  transport TEXT NOT NULL,
  state TEXT NOT NULL,
  revision INTEGER NOT NULL,
  version INTEGER NOT NULL,
  required INTEGER NOT NULL,
  limits TEXT NOT NULL,
  endpoint_seal TEXT,
  endpoint_clear TEXT,
  credential_id TEXT,
  published_id TEXT,
  ever_enabled INTEGER NOT NULL,
  health TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX connections_name ON connections (scope, name) WHERE state <> 'deleted';

CREATE TABLE observations (
  connection_id TEXT NOT NULL PRIMARY KEY,
  connection_revision INTEGER NOT NULL,
  digest TEXT NOT NULL,
  at INTEGER NOT NULL,
  tools TEXT NOT NULL
) STRICT;

CREATE TABLE credentials (
  id TEXT NOT NULL PRIMARY KEY,
  connection_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  state TEXT NOT NULL,
  seal TEXT NOT NULL,
  clear TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

CREATE TABLE catalogs (
  id TEXT NOT NULL PRIMARY KEY,
  connection_id TEXT NOT NULL,
  connection_revision INTEGER NOT NULL,
  number INTEGER,
  state TEXT NOT NULL,
  version INTEGER NOT NULL,
  era TEXT NOT NULL,
  protocol_version TEXT NOT NULL,
  server_info TEXT NOT NULL,
  digest TEXT NOT NULL,
  discovered_at INTEGER NOT NULL,
  discovered_by TEXT NOT NULL,
  reviewed_by TEXT,
  published_by TEXT,
  published_at INTEGER
) STRICT;
CREATE INDEX catalogs_connection ON catalogs (connection_id, id);
CREATE UNIQUE INDEX catalogs_number ON catalogs (connection_id, number) WHERE number IS NOT NULL;

CREATE TABLE catalog_tools (
  catalog_id TEXT NOT NULL,
  name TEXT NOT NULL,
  exposed_name TEXT NOT NULL,
  title TEXT,
  description TEXT,
  input_schema TEXT NOT NULL,
  output_schema TEXT NOT NULL,
  annotations TEXT NOT NULL,
  digest TEXT NOT NULL,
  access TEXT NOT NULL,
  decision TEXT NOT NULL,
  note TEXT,
  flags TEXT NOT NULL,
  refused_because TEXT,
  PRIMARY KEY (catalog_id, name)
) STRICT;

CREATE TABLE profiles (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  settings TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE grants (
  id TEXT NOT NULL PRIMARY KEY,
  profile_id TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  mode TEXT NOT NULL,
  limits TEXT NOT NULL,
  digest TEXT NOT NULL,
  owner_id TEXT,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  revoked_at INTEGER
) STRICT;
CREATE UNIQUE INDEX grants_standing ON grants (profile_id, connection_id, tool)
  WHERE revoked_at IS NULL;

CREATE TABLE sessions (
  id TEXT NOT NULL PRIMARY KEY,
  profile_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  state TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  isolation TEXT NOT NULL,
  label TEXT,
  harness TEXT,
  evidence TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  opened_at INTEGER,
  expires_at INTEGER NOT NULL,
  idle_ms INTEGER NOT NULL,
  last_call_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_reason TEXT,
  unavailable TEXT NOT NULL
) STRICT;
CREATE INDEX sessions_owner ON sessions (owner_id, id);
CREATE INDEX sessions_state ON sessions (state, id);

CREATE TABLE bindings (
  id TEXT NOT NULL PRIMARY KEY,
  session_id TEXT NOT NULL,
  connection_name TEXT NOT NULL,
  exposed_name TEXT NOT NULL,
  connection_id TEXT NOT NULL,
  connection_revision INTEGER NOT NULL,
  scope TEXT NOT NULL,
  credential_id TEXT,
  catalog_id TEXT NOT NULL,
  tool TEXT NOT NULL,
  tool_digest TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  grant_digest TEXT NOT NULL,
  input_schema_digest TEXT NOT NULL,
  shown_schema_digest TEXT NOT NULL,
  mode TEXT NOT NULL,
  access TEXT NOT NULL,
  limits TEXT NOT NULL,
  digest_version INTEGER NOT NULL,
  hash TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX bindings_name ON bindings (session_id, connection_name, exposed_name);

CREATE TABLE executions (
  id TEXT NOT NULL PRIMARY KEY,
  session_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  state TEXT NOT NULL,
  code TEXT,
  field TEXT,
  connection_id TEXT,
  connection_name TEXT NOT NULL,
  tool TEXT NOT NULL,
  mode TEXT,
  access TEXT,
  binding_id TEXT,
  binding_hash TEXT,
  grant_id TEXT,
  arguments_digest TEXT,
  digest_version INTEGER NOT NULL,
  write_key TEXT,
  intent_id TEXT,
  intent_digest TEXT,
  gateway_instance TEXT NOT NULL,
  worker_instance TEXT,
  not_after INTEGER,
  intent_issued_at INTEGER,
  arrived_at INTEGER NOT NULL,
  barrier_at INTEGER,
  finished_at INTEGER,
  result_digest TEXT,
  result_bytes INTEGER,
  took_ms REAL,
  notes TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX executions_call ON executions (session_id, call_id);
CREATE UNIQUE INDEX executions_write ON executions (write_key)
  WHERE write_key IS NOT NULL AND state IN ('dispatching', 'unknown');
CREATE INDEX executions_owner ON executions (owner_id, id);
CREATE INDEX executions_passed ON executions (session_id, grant_id, barrier_at)
  WHERE barrier_at IS NOT NULL;
CREATE INDEX executions_state ON executions (state, id) WHERE state <> 'succeeded';

CREATE TABLE instances (
  id TEXT NOT NULL PRIMARY KEY,
  started_at INTEGER NOT NULL,
  lease_until INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
  name TEXT NOT NULL PRIMARY KEY,
  value TEXT,
  by TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
INSERT INTO settings (name, value, by, at) VALUES ('pause', NULL, '', 0);
`,
}
