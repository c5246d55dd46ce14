import type { Migration } from './migration.ts'

/** Who is gone of before is not known: the next event finds out. */
export const postgres010: Migration = {
  number: 10,
  name: 'gone-webhooks',
  sql: `
ALTER TABLE webhooks ADD COLUMN gone_at bigint;
`,
}
