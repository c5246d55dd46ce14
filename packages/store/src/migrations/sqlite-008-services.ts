import type { Migration } from './migration.ts'

/** Sessions of before were kept from nothing by anybody's word. */
export const sqlite008: Migration = {
  number: 8,
  name: 'services, health, deny set',
  sql: `
CREATE TABLE services (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  resource TEXT NOT NULL,
  method TEXT NOT NULL,
  scope_wanted TEXT NOT NULL,
  client_id TEXT,
  created_by TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE TABLE told_conditions (
  connection_id TEXT NOT NULL PRIMARY KEY,
  condition TEXT NOT NULL,
  code TEXT,
  since INTEGER NOT NULL
) STRICT;
CREATE TABLE deny_sets (
  revision INTEGER NOT NULL PRIMARY KEY,
  digest TEXT NOT NULL,
  entries TEXT NOT NULL,
  state TEXT NOT NULL,
  staged_at INTEGER NOT NULL,
  published_at INTEGER
) STRICT;
CREATE TABLE deny_sources (
  source TEXT NOT NULL PRIMARY KEY,
  entries TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE session_denials (
  session_id TEXT NOT NULL PRIMARY KEY,
  keeper TEXT NOT NULL,
  since INTEGER NOT NULL,
  confirmed INTEGER,
  confirmed_at INTEGER
) STRICT;
INSERT INTO session_denials (session_id, keeper, since, confirmed, confirmed_at)
  SELECT id, CASE isolation WHEN 'bubblewrap' THEN 'owner' ELSE 'nobody' END, 0, NULL, NULL
  FROM sessions WHERE state <> 'ended';
`,
}
