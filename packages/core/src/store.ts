/**
 * The store: one contract, kept by memory, SQLite and Postgres. What is decided on is read inside the transaction that
 * acts on it. Failures of the database itself are `store_unavailable`, `schema_too_new`, `migration_changed`,
 * `row_unreadable`; they are never told as a refusal or as "not found".
 */
import type {
  CatalogId,
  ConnectionId,
  CredentialId,
  ExecutionId,
  GrantId,
  ProfileId,
  SessionId,
} from '@sallyport/protocol'
import type { ApprovalReads, ApprovalWrites } from './approval/approval-store.ts'
import type { BindingReads, BindingWrites } from './binding/binding-store.ts'
import type { BodyReads, BodyWrites } from './body/body-store.ts'
import type { Catalog } from './catalog/catalog.ts'
import type { CatalogReads, CatalogWrites } from './catalog/catalog-store.ts'
import type { Connection } from './connection/connection.ts'
import type { ConnectionReads, ConnectionWrites } from './connection/connection-store.ts'
import type { Credential } from './credential/credential.ts'
import type { CredentialReads, CredentialWrites } from './credential/credential-store.ts'
import type { DenyReads, DenyWrites } from './deny/deny-store.ts'
import type { ExecutionReads, ExecutionWrites } from './execution/execution-store.ts'
import type { Grant } from './grant/grant.ts'
import type { GrantReads, GrantWrites } from './grant/grant-store.ts'
import type { ConditionReads, ConditionWrites } from './health/condition-store.ts'
import type { InstanceReads, InstanceWrites } from './instance/instance-store.ts'
import type { JournalReads, JournalWrites } from './journal/journal-store.ts'
import type { OAuthReads, OAuthWrites } from './oauth/oauth-store.ts'
import type { Profile } from './profile/profile.ts'
import type { ProfileReads, ProfileWrites } from './profile/profile-store.ts'
import type { SandboxReads, SandboxWrites } from './sandbox/sandbox-store.ts'
import type { ServiceReads, ServiceWrites } from './service/service-store.ts'
import type { Session } from './session/session.ts'
import type { SessionReads, SessionWrites } from './session/session-store.ts'
import type { Setting, SettingReads, SettingWrites } from './setting/setting-store.ts'
import type { UserReads, UserWrites } from './user/user-store.ts'
import type { KnownKeyReads, KnownKeyWrites } from './vault/known-key-store.ts'
import type { SealReads, SealWrites } from './vault/seal-store.ts'
import type { WebhookReads, WebhookWrites } from './webhook/webhook-store.ts'

/** Committed rows as they are now; two reads may see two moments. */
export interface Reads {
  readonly users: UserReads
  readonly connections: ConnectionReads
  readonly credentials: CredentialReads
  readonly catalogs: CatalogReads
  readonly profiles: ProfileReads
  readonly grants: GrantReads
  readonly sessions: SessionReads
  readonly sandboxes: SandboxReads
  readonly bindings: BindingReads
  readonly executions: ExecutionReads
  readonly approvals: ApprovalReads
  readonly bodies: BodyReads
  readonly journal: JournalReads
  readonly instances: InstanceReads
  readonly settings: SettingReads
  readonly vaultKeys: KnownKeyReads
  readonly seals: SealReads
  readonly webhooks: WebhookReads
  readonly oauth: OAuthReads
  readonly services: ServiceReads
  readonly conditions: ConditionReads
  readonly denials: DenyReads
}

/** Rows that decide whether a call may happen, in the one order in which they are locked. */
export interface AuthorityRefs {
  readonly connections: readonly ConnectionId[]
  readonly credentials: readonly CredentialId[]
  readonly catalogs: readonly CatalogId[]
  readonly profiles: readonly ProfileId[]
  readonly grants: readonly GrantId[]
  readonly sessions: readonly SessionId[]
}

/** What a barrier decides on. Rows that do not exist are absent; rows that could not be locked in time are in `busy`. */
export interface Authority {
  readonly now: number
  readonly connections: ReadonlyMap<ConnectionId, Connection>
  readonly credentials: ReadonlyMap<CredentialId, Credential>
  readonly catalogs: ReadonlyMap<CatalogId, Catalog>
  readonly profiles: ReadonlyMap<ProfileId, Profile>
  readonly grants: ReadonlyMap<GrantId, Grant>
  readonly sessions: ReadonlyMap<SessionId, Session>
  readonly pause: Setting | undefined
  readonly busy: ReadonlySet<string>
}

export interface Tx extends Reads {
  readonly users: UserWrites
  readonly connections: ConnectionWrites
  readonly credentials: CredentialWrites
  readonly catalogs: CatalogWrites
  readonly profiles: ProfileWrites
  readonly grants: GrantWrites
  readonly sessions: SessionWrites
  readonly sandboxes: SandboxWrites
  readonly bindings: BindingWrites
  readonly executions: ExecutionWrites
  readonly approvals: ApprovalWrites
  readonly bodies: BodyWrites
  readonly journal: JournalWrites
  readonly instances: InstanceWrites
  readonly settings: SettingWrites
  readonly vaultKeys: KnownKeyWrites
  readonly seals: SealWrites
  readonly webhooks: WebhookWrites
  readonly oauth: OAuthWrites
  readonly services: ServiceWrites
  readonly conditions: ConditionWrites
  readonly denials: DenyWrites

  /**
   * Once the transaction is committed, whoever listens is told, on every gateway of the database: something was decided
   * about these executions. A hint: one that is lost costs time, nothing else.
   */
  announce(ids: readonly ExecutionId[]): Promise<void>
  /** The database's clock, ms since 1970; the same all through a transaction. */
  now(): Promise<number>
  /**
   * Reads under a lock that a change of authority conflicts with, on the setting `pause` too. Barriers share it, but a
   * session is one's own, so that two gateways count its calls one after the other. Never waits long: late rows are
   * `busy`; while the pause itself is being changed, all are.
   */
  lockAuthority(refs: AuthorityRefs): Promise<Authority>
  /**
   * Takes the locks of a change of authority, in the one order, before it reads: conflicts with `lockAuthority`, not
   * with foreign keys. Waits (bounded; then `authority_busy`).
   */
  lockForChange(refs: Partial<AuthorityRefs> & { readonly pause?: true }): Promise<void>
}

export interface Store extends Reads {
  readonly engine: 'memory' | 'sqlite' | 'postgres'
  /**
   * Runs `work` in one transaction and commits, or rolls back when it throws. `work` awaits nothing but the
   * transaction's own methods, and takes locks in the order write keys (waited for), connection, credential, catalog,
   * profile, grant, session, approval, execution (settled, then inserted), vault key,
   * journal. With `flush: 'wait'` (the default) the promise resolves when the commit survives
   * a power cut; with `'later'` when it survives a crash of this process. A commit whose end is unclear throws
   * `store_unavailable`.
   */
  transact<T>(
    work: (tx: Tx) => Promise<T>,
    options?: { readonly flush?: 'wait' | 'later' },
  ): Promise<T>
  /**
   * `heard` is told what transactions announced, by whichever gateway, soon after their commit; `all` when something may
   * have been missed. Ends with the returned function.
   */
  listen(heard: (ids: readonly ExecutionId[] | 'all') => void): () => void
  /** Throws when the store cannot be used any more; for health checks. */
  ping(): Promise<void>
  /** Waits for what is running, then closes. Later use throws `store_unavailable`. */
  close(): Promise<void>
}

/** The embedded store reports a flush that failed here; the gateway stops. */
export type OnFatal = (error: unknown) => void
