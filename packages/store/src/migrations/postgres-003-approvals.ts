import type { Migration } from './migration.ts'

/** Sessions of before continue nothing; of writes that are open or unknown, the caller has left. */
export const postgres003: Migration = {
  number: 3,
  name: 'approvals',
  sql: `
ALTER TABLE sessions ADD COLUMN chain_id text COLLATE "C";
ALTER TABLE sessions ADD COLUMN continues text COLLATE "C";
UPDATE sessions SET chain_id = id;
ALTER TABLE sessions ALTER COLUMN chain_id SET NOT NULL;

ALTER TABLE executions ADD COLUMN approval_id text COLLATE "C";
ALTER TABLE executions ADD COLUMN caller text COLLATE "C";
ALTER TABLE executions ADD COLUMN caller_instance text COLLATE "C";
ALTER TABLE executions ADD COLUMN is_modern bigint NOT NULL DEFAULT 0;
ALTER TABLE executions ADD COLUMN collected_at bigint;
ALTER TABLE executions ADD COLUMN chain_id text COLLATE "C";
ALTER TABLE executions ADD COLUMN retain_ms bigint;
ALTER TABLE executions ADD COLUMN resolution text COLLATE "C";
UPDATE executions SET chain_id = session_id;
ALTER TABLE executions ALTER COLUMN chain_id SET NOT NULL;
UPDATE executions SET caller = 'detached', caller_instance = gateway_instance
  WHERE write_key IS NOT NULL AND state IN ('dispatching', 'unknown');
CREATE INDEX executions_twins ON executions (write_key, id)
  WHERE caller IS NOT NULL AND caller <> 'collected';
CREATE INDEX executions_identical ON executions (write_key, id) WHERE write_key <> '';
CREATE INDEX executions_unknown ON executions (owner_id, connection_id, tool)
  WHERE state = 'unknown';

CREATE TABLE approvals (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  execution_id text COLLATE "C" NOT NULL UNIQUE,
  session_id text COLLATE "C" NOT NULL,
  owner_id text COLLATE "C" NOT NULL,
  call_id text COLLATE "C" NOT NULL,
  binding_hash text COLLATE "C" NOT NULL,
  arguments_digest text COLLATE "C" NOT NULL,
  digest_version bigint NOT NULL,
  state text COLLATE "C" NOT NULL,
  approvers text COLLATE "C" NOT NULL,
  excludes_requester bigint NOT NULL,
  decisions text COLLATE "C" NOT NULL,
  requested_at bigint NOT NULL,
  expires_at bigint NOT NULL,
  closed_at bigint
);
CREATE INDEX approvals_state ON approvals (state, expires_at);
CREATE INDEX approvals_session ON approvals (session_id, state);

CREATE TABLE bodies (
  execution_id text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  sealed bytea NOT NULL,
  due_at bigint NOT NULL,
  PRIMARY KEY (execution_id, kind)
);
CREATE INDEX bodies_due ON bodies (due_at);

CREATE TABLE webhooks (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  seal text COLLATE "C" NOT NULL,
  clear text COLLATE "C" NOT NULL,
  events text COLLATE "C" NOT NULL,
  created_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  last_delivered_at bigint,
  last_failure text COLLATE "C"
);

CREATE TABLE deliveries (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  webhook_id text COLLATE "C" NOT NULL,
  event text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL,
  attempts bigint NOT NULL,
  next_at bigint NOT NULL
);
CREATE INDEX deliveries_next ON deliveries (next_at);
CREATE INDEX deliveries_webhook ON deliveries (webhook_id);
`,
}
