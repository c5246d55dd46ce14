import type { Migration } from './migration.ts'

/** Sessions of before had no sandbox of ours. */
export const sqlite005: Migration = {
  number: 5,
  name: 'sandboxes',
  sql: `
CREATE TABLE sandboxes (
  session_id TEXT NOT NULL PRIMARY KEY,
  plan TEXT NOT NULL,
  owner TEXT NOT NULL,
  owner_hash TEXT NOT NULL,
  evidence TEXT,
  proved_at INTEGER,
  seen_at INTEGER NOT NULL
) STRICT;
`,
}
