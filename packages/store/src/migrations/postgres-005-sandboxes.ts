import type { Migration } from './migration.ts'

/** Sessions of before had no sandbox of ours. */
export const postgres005: Migration = {
  number: 5,
  name: 'sandboxes',
  sql: `
CREATE TABLE sandboxes (
  session_id text COLLATE "C" NOT NULL PRIMARY KEY,
  plan text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  owner_hash text COLLATE "C" NOT NULL,
  evidence text COLLATE "C",
  proved_at bigint,
  seen_at bigint NOT NULL
);
`,
}
