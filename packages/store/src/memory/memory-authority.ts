import type { Authority, AuthorityRefs } from '@sallyport/core'
import type { MemoryRows } from './memory-rows.ts'
import type { MemoryTables } from './memory-tables.ts'

/** One transaction runs at a time, so nothing is ever busy. */
export function readAuthority(rows: MemoryTables, refs: AuthorityRefs, now: number): Authority {
  return {
    now,
    connections: pick(rows.connections, refs.connections),
    credentials: pick(rows.credentials, refs.credentials),
    catalogs: pick(rows.catalogs, refs.catalogs),
    profiles: pick(rows.profiles, refs.profiles),
    grants: pick(rows.grants, refs.grants),
    sessions: pick(rows.sessions, refs.sessions),
    pause: rows.settings.get('pause'),
    busy: new Set(),
  }
}

function pick<Id extends string, Row>(rows: MemoryRows<Row>, ids: readonly Id[]): Map<Id, Row> {
  const picked = new Map<Id, Row>()
  for (const id of ids) {
    const row = rows.get(id)
    if (row) picked.set(id, row)
  }
  return picked
}
