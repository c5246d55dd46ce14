import type {
  ApiToken,
  Binding,
  Catalog,
  CatalogTool,
  Connection,
  Credential,
  Execution,
  Grant,
  Instance,
  JournalCheckpoint,
  JournalKey,
  JournalStream,
  KeptPage,
  Observation,
  Profile,
  Session,
  Setting,
  User,
} from '@sallyport/core'
import type { CatalogId } from '@sallyport/protocol'
import type { Table } from '../rows/table.ts'
import * as tables from '../rows/tables.ts'
import { ChangedRows, CommittedRows, type MemoryRows, type RowKind } from './memory-rows.ts'

export interface ToolsOfCatalog {
  readonly catalogId: CatalogId
  readonly tools: readonly CatalogTool[]
}

/** The rows of every table, committed or as one transaction sees them. */
export interface MemoryTables {
  readonly users: MemoryRows<User>
  readonly tokens: MemoryRows<ApiToken>
  readonly connections: MemoryRows<Connection>
  readonly observations: MemoryRows<Observation>
  readonly credentials: MemoryRows<Credential>
  readonly catalogs: MemoryRows<Catalog>
  readonly catalogTools: MemoryRows<ToolsOfCatalog>
  readonly profiles: MemoryRows<Profile>
  readonly grants: MemoryRows<Grant>
  readonly sessions: MemoryRows<Session>
  readonly bindings: MemoryRows<Binding>
  readonly executions: MemoryRows<Execution>
  readonly journalStreams: MemoryRows<JournalStream>
  readonly journalPages: MemoryRows<KeptPage>
  readonly journalCheckpoints: MemoryRows<JournalCheckpoint>
  readonly journalKeys: MemoryRows<JournalKey>
  readonly instances: MemoryRows<Instance>
  readonly settings: MemoryRows<Setting>
}

type RowOf<Name extends keyof MemoryTables> =
  MemoryTables[Name] extends MemoryRows<infer Row> ? Row : never
export type CommittedTables = {
  readonly [Name in keyof MemoryTables]: CommittedRows<RowOf<Name>>
}

export function committedTables(): CommittedTables {
  return {
    users: byId(tables.users),
    tokens: byId(tables.tokens),
    connections: byId(tables.connections),
    observations: by(tables.observations, (row) => row.connectionId),
    credentials: byId(tables.credentials),
    catalogs: byId(tables.catalogs),
    catalogTools: new CommittedRows<ToolsOfCatalog>({
      key: (row) => row.catalogId,
      kept: ({ catalogId, tools }) => ({ catalogId, tools: tools.map(kept(tables.catalogTools)) }),
    }),
    profiles: byId(tables.profiles),
    grants: byId(tables.grants),
    sessions: byId(tables.sessions),
    bindings: byId(tables.bindings),
    executions: byId(tables.executions),
    journalStreams: byId(tables.journalStreams),
    journalPages: by(tables.journalPages, (row) => String(row.position)),
    journalCheckpoints: by(tables.journalCheckpoints, (row) => String(row.sequence)),
    journalKeys: by(tables.journalKeys, (row) => row.kid),
    instances: byId(tables.instances),
    settings: by(tables.settings, (row) => row.name),
  }
}

export interface ChangedTables {
  readonly rows: MemoryTables
  commit(): void
}

/** `check` throws when the rows may not be used any more; `fail` hears of rows that exist already. */
export function changedTables(
  committed: CommittedTables,
  check: () => void,
  fail?: (error: TypeError) => void,
): ChangedTables {
  const changed = Object.entries(committed).map(
    ([name, rows]) => [name, new ChangedRows<unknown>(rows, check, fail)] as const,
  )
  return {
    rows: Object.fromEntries(changed) as unknown as MemoryTables,
    commit: () => {
      for (const [, rows] of changed) rows.commit()
    },
  }
}

function byId<Row extends { readonly id: string }>(table: Table<Row>): CommittedRows<Row> {
  return by(table, (row) => row.id)
}

function by<Row extends object>(table: Table<Row>, key: RowKind<Row>['key']): CommittedRows<Row> {
  return new CommittedRows({ key, kept: kept(table) })
}

function kept<Row extends object>(table: Table<Row>): (row: Row) => Row {
  return (row) => table.read(table.keep(row))
}
