import type { Migration } from './migration.ts'

/** Sessions of before were kept from nothing by anybody's word. */
export const postgres008: Migration = {
  number: 8,
  name: 'services, health, deny set',
  sql: `
CREATE TABLE services (
  id text COLLATE "C" NOT NULL PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE,
  resource text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  scope_wanted text COLLATE "C" NOT NULL,
  client_id text COLLATE "C",
  created_by text COLLATE "C" NOT NULL,
  created_at bigint NOT NULL
);
CREATE TABLE told_conditions (
  connection_id text COLLATE "C" NOT NULL PRIMARY KEY,
  condition text COLLATE "C" NOT NULL,
  code text COLLATE "C",
  since bigint NOT NULL
);
CREATE TABLE deny_sets (
  revision bigint NOT NULL PRIMARY KEY,
  digest text COLLATE "C" NOT NULL,
  entries text COLLATE "C" NOT NULL,
  state text COLLATE "C" NOT NULL,
  staged_at bigint NOT NULL,
  published_at bigint
);
CREATE TABLE deny_sources (
  source text COLLATE "C" NOT NULL PRIMARY KEY,
  entries text COLLATE "C" NOT NULL,
  at bigint NOT NULL
);
CREATE TABLE session_denials (
  session_id text COLLATE "C" NOT NULL PRIMARY KEY,
  keeper text COLLATE "C" NOT NULL,
  since bigint NOT NULL,
  confirmed bigint,
  confirmed_at bigint
);
INSERT INTO session_denials (session_id, keeper, since, confirmed, confirmed_at)
  SELECT id, CASE isolation WHEN 'bubblewrap' THEN 'owner' ELSE 'nobody' END, 0, NULL, NULL
  FROM sessions WHERE state <> 'ended';
`,
}
