/** The rows that decide whether a call may happen, kind by kind, in the one order in which they are locked. */
import type { Authority, AuthorityRefs, Setting } from '@sallyport/core'
import type { Shape, Table } from '../rows/table.ts'
import {
  catalogs,
  connections,
  credentials,
  grants,
  profiles,
  sessions,
  settings,
} from '../rows/tables.ts'
import type { Kept } from './driver.ts'
import { select } from './statements.ts'

export type AuthorityKind = keyof AuthorityRefs
export type AuthorityRows = Record<AuthorityKind, readonly Kept[]>

/** In the order of their locks. */
export const authorityTables = { connections, credentials, catalogs, profiles, grants, sessions }

const tables = Object.entries(authorityTables) as [AuthorityKind, Shape][]

/** A row of any kind. */
export interface AuthorityRow {
  readonly id: string
}

export interface KindStatements {
  readonly kind: AuthorityKind
  /** Whole rows of the ids in `$1`, by id, under a lock. */
  readonly lock: string
  readonly table: string
}

/**
 * For a barrier: shared, but sessions alone, so that two gateways count the calls of one session one after the other.
 */
export function barrierStatements(suffix = ''): readonly KindStatements[] {
  return tables.map(([kind, table]) => {
    const strength = kind === 'sessions' ? 'FOR NO KEY UPDATE' : 'FOR SHARE'
    const lock = select(table, `WHERE id = ANY($1) ORDER BY id ${strength}${suffix}`)
    return { kind, lock, table: table.name }
  })
}

/** For a change of authority: conflicts with every barrier, not with foreign keys. */
export const changeStatements: readonly KindStatements[] = tables.map(([kind, table]) => ({
  kind,
  lock: `SELECT id FROM ${table.name} WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE`,
  table: table.name,
}))

/** The row `pause` always exists; its value is null while there is no pause. */
export const pauseForBarrier = (suffix = '') =>
  select(settings, `WHERE name = 'pause' FOR SHARE${suffix}`)
export const pauseForChange = "SELECT name FROM settings WHERE name = 'pause' FOR NO KEY UPDATE"

export function readPause(kept: Kept | undefined): Setting | undefined {
  const isSet = kept !== undefined && kept[settings.columns.indexOf('value')] !== null
  return isSet ? settings.read(kept) : undefined
}

export function noRows(): AuthorityRows {
  return { connections: [], credentials: [], catalogs: [], profiles: [], grants: [], sessions: [] }
}

export function authorityOf(
  now: number,
  rows: AuthorityRows,
  pause: Setting | undefined,
  busy: ReadonlySet<string>,
): Authority {
  return {
    now,
    connections: byId(connections, rows.connections),
    credentials: byId(credentials, rows.credentials),
    catalogs: byId(catalogs, rows.catalogs),
    profiles: byId(profiles, rows.profiles),
    grants: byId(grants, rows.grants),
    sessions: byId(sessions, rows.sessions),
    pause,
    busy,
  }
}

function byId<Row extends { readonly id: string }>(
  table: Table<Row>,
  kept: readonly Kept[],
): Map<Row['id'], Row> {
  const rows = kept.map(table.read)
  return new Map(rows.map((row) => [row.id, row]))
}
