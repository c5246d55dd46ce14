import type { Migration } from './migration.ts'

/**
 * Sessions of before continue nothing; of writes that are open or unknown, the caller has left. The defaults of `chain_id`
 * are only there because SQLite adds no column without one.
 */
export const sqlite003: Migration = {
  number: 3,
  name: 'approvals',
  sql: `
ALTER TABLE sessions ADD COLUMN chain_id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN continues TEXT;
UPDATE sessions SET chain_id = id;

ALTER TABLE executions ADD COLUMN approval_id TEXT;
ALTER TABLE executions ADD COLUMN caller TEXT;
ALTER TABLE executions ADD COLUMN caller_instance TEXT;
ALTER TABLE executions ADD COLUMN is_modern INTEGER NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN collected_at INTEGER;
ALTER TABLE executions ADD COLUMN chain_id TEXT NOT NULL DEFAULT '';
ALTER TABLE executions ADD COLUMN retain_ms INTEGER;
ALTER TABLE executions ADD COLUMN resolution TEXT;
UPDATE executions SET chain_id = session_id;
UPDATE executions SET caller = 'detached', caller_instance = gateway_instance
  WHERE write_key IS NOT NULL AND state IN ('dispatching', 'unknown');
CREATE INDEX executions_twins ON executions (write_key, id)
  WHERE caller IS NOT NULL AND caller <> 'collected';
CREATE INDEX executions_identical ON executions (write_key, id) WHERE write_key <> '';
CREATE INDEX executions_unknown ON executions (owner_id, connection_id, tool)
  WHERE state = 'unknown';

CREATE TABLE approvals (
  id TEXT NOT NULL PRIMARY KEY,
  execution_id TEXT NOT NULL UNIQUE,
  session_id TEXT NOT NULL,
  owner_id TEXT NOT NULL,
  call_id TEXT NOT NULL,
  binding_hash TEXT NOT NULL,
  arguments_digest TEXT NOT NULL,
  digest_version INTEGER NOT NULL,
  state TEXT NOT NULL,
  approvers TEXT NOT NULL,
  excludes_requester INTEGER NOT NULL,
  decisions TEXT NOT NULL,
  requested_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  closed_at INTEGER
) STRICT;
CREATE INDEX approvals_state ON approvals (state, expires_at);
CREATE INDEX approvals_session ON approvals (session_id, state);

CREATE TABLE bodies (
  execution_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  sealed BLOB NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (execution_id, kind)
) STRICT;
CREATE INDEX bodies_due ON bodies (due_at);

CREATE TABLE webhooks (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  seal TEXT NOT NULL,
  clear TEXT NOT NULL,
  events TEXT NOT NULL,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_delivered_at INTEGER,
  last_failure TEXT
) STRICT;

CREATE TABLE deliveries (
  id TEXT NOT NULL PRIMARY KEY,
  webhook_id TEXT NOT NULL,
  event TEXT NOT NULL,
  text TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL
) STRICT;
CREATE INDEX deliveries_next ON deliveries (next_at);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id);
`,
}
