import type { Migration } from './migration.ts'

export const sqlite002: Migration = {
  number: 2,
  name: 'journal',
  sql: `
ALTER TABLE executions ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;

CREATE TABLE journal_streams (
  id TEXT NOT NULL PRIMARY KEY,
  instance TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  covered INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX journal_streams_open ON journal_streams (id) WHERE ended_at IS NULL;

CREATE TABLE journal_pages (
  position INTEGER NOT NULL PRIMARY KEY,
  stream TEXT NOT NULL,
  first INTEGER NOT NULL,
  last INTEGER NOT NULL,
  hash TEXT NOT NULL,
  text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX journal_pages_stream ON journal_pages (stream, first);

CREATE TABLE journal_checkpoints (
  sequence INTEGER NOT NULL PRIMARY KEY,
  at INTEGER NOT NULL,
  position INTEGER NOT NULL,
  jws TEXT NOT NULL
) STRICT;
CREATE INDEX journal_checkpoints_at ON journal_checkpoints (at);

CREATE TABLE journal_keys (
  kid TEXT NOT NULL PRIMARY KEY,
  jwk TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
`,
}
