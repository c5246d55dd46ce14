import type { Migration } from './migration.ts'

/** Text compares byte by byte ("C"), which is code point order, whatever the database's own collation is. */
export const postgres001: Migration = {
  number: 1,
  name: 'first',
  sql: `
CREATE TABLE users (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  role text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  disabled_at bigint
);

CREATE TABLE tokens (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  user_id text COLLATE "C" NOT NULL,
  hash text COLLATE "C" NOT NULL UNIQUE,
  label text COLLATE "C",
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint
);
CREATE INDEX tokens_user ON tokens (user_id, id);

CREATE TABLE connections (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  name text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C",
  transport text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  version bigint NOT NULL,
  required bigint NOT NULL,
  limits text COLLATE "C" NOT NULL,
  endpoint_seal text COLLATE "C",
  endpoint_clear text COLLATE "C",
  credential_id text COLLATE "C",
  published_id text COLLATE "C",
  ever_enabled bigint NOT NULL,
  health text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);
CREATE UNIQUE INDEX connections_name ON connections (scope, name) WHERE state <> 'deleted';

CREATE TABLE observations (
  connection_id text COLLATE "C" NOT NULL PRIMARY KEY,
  connection_revision bigint NOT NULL,
  digest text COLLATE "C" NOT NULL,
  at bigint NOT NULL,
  tools text COLLATE "C" NOT NULL
);

CREATE TABLE credentials (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  connection_id text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  seal text COLLATE "C" NOT NULL,
  clear text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

CREATE TABLE catalogs (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  connection_id text COLLATE "C" NOT NULL,
  connection_revision bigint NOT NULL,
  number bigint,
  state text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  era text COLLATE "C" NOT NULL,
  protocol_version text COLLATE "C" NOT NULL,
  server_info text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  discovered_at bigint NOT NULL,
  discovered_by text COLLATE "C" NOT NULL,
  reviewed_by text COLLATE "C",
  published_by text COLLATE "C",
  published_at bigint
);
CREATE INDEX catalogs_connection ON catalogs (connection_id, id);
CREATE UNIQUE INDEX catalogs_number ON catalogs (connection_id, number) WHERE number IS NOT NULL;

CREATE TABLE catalog_tools (
  catalog_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  exposed_name text COLLATE "C" NOT NULL,
  title text COLLATE "C",
  description text COLLATE "C",
  input_schema text COLLATE "C" NOT NULL,
  output_schema text COLLATE "C" NOT NULL,
  annotations text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  access text COLLATE "C" NOT NULL,
  decision text COLLATE "C" NOT NULL,
  note text COLLATE "C",
  flags text COLLATE "C" NOT NULL,
  refused_because text COLLATE "C",
  PRIMARY KEY (catalog_id, name)
);

CREATE TABLE profiles (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  state text COLLATE "C" NOT NULL,
  settings text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);

CREATE TABLE grants (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  profile_id text COLLATE "C" NOT NULL,
  connection_id text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  limits text COLLATE "C" NOT NULL,
  digest text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  revoked_at bigint
);
CREATE UNIQUE INDEX grants_standing ON grants (profile_id, connection_id, tool)
  WHERE revoked_at IS NULL;

CREATE TABLE sessions (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  profile_id text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  token_hash text COLLATE "C" NOT NULL UNIQUE,
  isolation text COLLATE "C" NOT NULL,
  label text COLLATE "C",
  harness text COLLATE "C",
  evidence text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  opened_at bigint,
  expires_at bigint NOT NULL,
  idle_ms bigint NOT NULL,
  last_call_at bigint NOT NULL,
  ended_at bigint,
  end_reason text COLLATE "C",
  unavailable text COLLATE "C" NOT NULL
);
CREATE INDEX sessions_owner ON sessions (owner_id, id);
CREATE INDEX sessions_state ON sessions (state, id);

CREATE TABLE bindings (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  connection_name text COLLATE "C" NOT NULL,
  exposed_name text COLLATE "C" NOT NULL,
  connection_id text COLLATE "C" NOT NULL,
  connection_revision bigint NOT NULL,
  scope text COLLATE "C" NOT NULL,
  credential_id text COLLATE "C",
  catalog_id text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  tool_digest text COLLATE "C" NOT NULL,
  grant_id text COLLATE "C" NOT NULL,
  grant_digest text COLLATE "C" NOT NULL,
  input_schema_digest text COLLATE "C" NOT NULL,
  shown_schema_digest text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL,
  access text COLLATE "C" NOT NULL,
  limits text COLLATE "C" NOT NULL,
  digest_version bigint NOT NULL,
  hash text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX bindings_name ON bindings (session_id, connection_name, exposed_name);

CREATE TABLE executions (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  session_id text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C" NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  code text COLLATE "C",
  field text COLLATE "C",
  connection_id text COLLATE "C",
  connection_name text COLLATE "C" NOT NULL,
  tool text COLLATE "C" NOT NULL,
  mode text COLLATE "C",
  access text COLLATE "C",
  binding_id text COLLATE "C",
  binding_hash text COLLATE "C",
  grant_id text COLLATE "C",
  arguments_digest text COLLATE "C",
  digest_version bigint NOT NULL,
  write_key text COLLATE "C",
  intent_id text COLLATE "C",
  intent_digest text COLLATE "C",
  gateway_instance text COLLATE "C" NOT NULL,
  worker_instance text COLLATE "C",
  not_after bigint,
  intent_issued_at bigint,
  arrived_at bigint NOT NULL,
  barrier_at bigint,
  finished_at bigint,
  result_digest text COLLATE "C",
  result_bytes bigint,
  took_ms double precision,
  notes text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX executions_call ON executions (session_id, call_id);
CREATE UNIQUE INDEX executions_write ON executions (write_key)
  WHERE write_key IS NOT NULL AND state IN ('dispatching', 'unknown');
CREATE INDEX executions_owner ON executions (owner_id, id);
CREATE INDEX executions_passed ON executions (session_id, grant_id, barrier_at)
  WHERE barrier_at IS NOT NULL;
CREATE INDEX executions_state ON executions (state, id) WHERE state <> 'succeeded';

CREATE TABLE instances (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  started_at bigint NOT NULL,
  lease_until bigint NOT NULL
);

CREATE TABLE settings (
  name text COLLATE "C" NOT NULL PRIMARY KEY,
  value text COLLATE "C",
  by text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);
INSERT INTO settings (name, value, by, at) VALUES ('pause', NULL, '', 0);
`,
}
