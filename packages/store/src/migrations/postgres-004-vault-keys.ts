import type { Migration } from './migration.ts'

/** Keys become known when a worker says that it has them. */
export const postgres004: Migration = {
  number: 4,
  name: 'vault keys',
  sql: `
CREATE TABLE vault_keys (
  kid text COLLATE "C" NOT NULL PRIMARY KEY,
  position bigint NOT NULL UNIQUE,
  state text COLLATE "C" NOT NULL,
  made_at bigint,
  retired_at bigint
);
`,
}
