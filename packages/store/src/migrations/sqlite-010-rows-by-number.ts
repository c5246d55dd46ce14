import type { Migration } from './migration.ts'

/**
 * Executions are kept by number instead of by id: a row fills a fifth of a page, and a tree that holds whole rows at every
 * level has then no more than five branches at each.
 */
export const sqlite010: Migration = {
  number: 10,
  name: 'rows-by-number',
  sql: `
CREATE TABLE executions_by_number (
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
  notes TEXT NOT NULL,
  sequence INTEGER NOT NULL DEFAULT 1,
  approval_id TEXT,
  caller TEXT,
  caller_instance TEXT,
  is_modern INTEGER NOT NULL DEFAULT 0,
  collected_at INTEGER,
  chain_id TEXT NOT NULL DEFAULT '',
  retain_ms INTEGER,
  resolution TEXT
) STRICT;
INSERT INTO executions_by_number SELECT id, session_id, owner_id, call_id, state, code, field,
  connection_id, connection_name, tool, mode, access, binding_id, binding_hash, grant_id,
  arguments_digest, digest_version, write_key, intent_id, intent_digest, gateway_instance,
  worker_instance, not_after, intent_issued_at, arrived_at, barrier_at, finished_at, result_digest,
  result_bytes, took_ms, notes, sequence, approval_id, caller, caller_instance, is_modern,
  collected_at, chain_id, retain_ms, resolution FROM executions ORDER BY id;
DROP TABLE executions;
ALTER TABLE executions_by_number RENAME TO executions;
CREATE UNIQUE INDEX executions_call ON executions (session_id, call_id);
CREATE UNIQUE INDEX executions_write ON executions (write_key)
  WHERE write_key IS NOT NULL AND state IN ('dispatching', 'unknown');
CREATE INDEX executions_owner ON executions (owner_id, id);
CREATE INDEX executions_passed ON executions (session_id, grant_id, barrier_at)
  WHERE barrier_at IS NOT NULL;
CREATE INDEX executions_state ON executions (state, id) WHERE state <> 'succeeded';
CREATE INDEX executions_twins ON executions (write_key, id)
  WHERE caller IS NOT NULL AND caller <> 'collected';
CREATE INDEX executions_identical ON executions (write_key, id) WHERE write_key <> '';
CREATE INDEX executions_unknown ON executions (owner_id, connection_id, tool, id)
  WHERE state = 'unknown';
`,
}
