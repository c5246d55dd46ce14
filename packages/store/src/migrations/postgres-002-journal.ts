import type { Migration } from './migration.ts'

export const postgres002: Migration = {
  number: 2,
  name: 'journal',
  sql: `
ALTER TABLE executions ADD COLUMN sequence bigint NOT NULL DEFAULT 0;

CREATE TABLE journal_streams (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  instance text COLLATE "C" NOT NULL,
  started_at bigint NOT NULL,
  covered bigint NOT NULL,
  ended_at bigint
);
CREATE INDEX journal_streams_open ON journal_streams (id) WHERE ended_at IS NULL;

CREATE TABLE journal_pages (
  position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  stream text COLLATE "C" NOT NULL,
  first bigint NOT NULL,
  last bigint NOT NULL,
  hash text COLLATE "C" NOT NULL,
  text text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX journal_pages_stream ON journal_pages (stream, first);

CREATE TABLE journal_checkpoints (
  sequence bigint NOT NULL PRIMARY KEY,
  at bigint NOT NULL,
  position bigint NOT NULL,
  jws text COLLATE "C" NOT NULL
);
CREATE INDEX journal_checkpoints_at ON journal_checkpoints (at);

CREATE TABLE journal_keys (
  kid text COLLATE "C" NOT NULL PRIMARY KEY,
  jwk text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);
`,
}
