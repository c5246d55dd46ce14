import type {
  ApiToken,
  Approval,
  Binding,
  Body,
  Catalog,
  CatalogTool,
  Connection,
  Credential,
  DenySource,
  Execution,
  Grant,
  Instance,
  JournalCheckpoint,
  JournalKey,
  JournalStream,
  KeptPage,
  KnownKey,
  OAuthConnection,
  OAuthFlow,
  Observation,
  Profile,
  RefreshLease,
  Service,
  Session,
  SessionDenial,
  SessionSandbox,
  Setting,
  StoredDenySet,
  StoredOAuthClient,
  ToldCondition,
  User,
  Webhook,
  WebhookDelivery,
} from '@sallyport/core'
import type { CatalogId } from '@sallyport/protocol'
import type { Table } from '../rows/table.ts'
import * as tables from '../rows/tables.ts'
import { bodyKey } from './memory-bodies.ts'
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
  readonly sandboxes: MemoryRows<SessionSandbox>
  readonly bindings: MemoryRows<Binding>
  readonly executions: MemoryRows<Execution>
  readonly approvals: MemoryRows<Approval>
  readonly bodies: MemoryRows<Body>
  readonly journalStreams: MemoryRows<JournalStream>
  readonly journalPages: MemoryRows<KeptPage>
  readonly journalCheckpoints: MemoryRows<JournalCheckpoint>
  readonly journalKeys: MemoryRows<JournalKey>
  readonly instances: MemoryRows<Instance>
  readonly settings: MemoryRows<Setting>
  readonly vaultKeys: MemoryRows<KnownKey>
  readonly webhooks: MemoryRows<Webhook>
  readonly deliveries: MemoryRows<WebhookDelivery>
  readonly oauthConnections: MemoryRows<OAuthConnection>
  readonly oauthClients: MemoryRows<StoredOAuthClient>
  readonly oauthFlows: MemoryRows<OAuthFlow>
  readonly refreshLeases: MemoryRows<RefreshLease>
  readonly services: MemoryRows<Service>
  readonly toldConditions: MemoryRows<ToldCondition>
  readonly denySets: MemoryRows<StoredDenySet>
  readonly denySources: MemoryRows<DenySource>
  readonly sessionDenials: MemoryRows<SessionDenial>
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
    sandboxes: by(tables.sandboxes, (row) => row.sessionId),
    bindings: byId(tables.bindings),
    executions: byId(tables.executions),
    approvals: byId(tables.approvals),
    bodies: by(tables.bodies, (row) => bodyKey(row)),
    journalStreams: byId(tables.journalStreams),
    journalPages: by(tables.journalPages, (row) => String(row.position)),
    journalCheckpoints: by(tables.journalCheckpoints, (row) => String(row.sequence)),
    journalKeys: by(tables.journalKeys, (row) => row.kid),
    instances: byId(tables.instances),
    settings: by(tables.settings, (row) => row.name),
    vaultKeys: by(tables.vaultKeys, (row) => row.kid),
    webhooks: byId(tables.webhooks),
    deliveries: byId(tables.deliveries),
    oauthConnections: by(tables.oauthConnections, (row) => row.connectionId),
    oauthClients: byId(tables.oauthClients),
    oauthFlows: byId(tables.oauthFlows),
    refreshLeases: by(tables.refreshLeases, (row) => row.credentialId),
    services: byId(tables.services),
    toldConditions: by(tables.toldConditions, (row) => row.connectionId),
    denySets: by(tables.denySets, (row) => String(row.revision)),
    denySources: by(tables.denySources, (row) => row.source),
    sessionDenials: by(tables.sessionDenials, (row) => row.sessionId),
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
