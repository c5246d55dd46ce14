import type { Migration } from './migration.ts'

/** Keys become known when a worker says that it has them. */
export const sqlite004: Migration = {
  number: 4,
  name: 'vault keys',
  sql: `
CREATE TABLE vault_keys (
  kid TEXT NOT NULL PRIMARY KEY,
  position INTEGER NOT NULL UNIQUE,
  state TEXT NOT NULL,
  made_at INTEGER,
  retired_at INTEGER
) STRICT;
`,
}
