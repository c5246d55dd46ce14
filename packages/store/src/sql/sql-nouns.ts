/** Every noun on a connection: outside transactions to read, inside one to read and write. */
import type { Authority, AuthorityRefs, Reads, Tx } from '@sallyport/core'
import type { ExecutionId } from '@sallyport/protocol'
import type { SqlReader, SqlWriter } from './driver.ts'
import { SqlApprovalReads, SqlApprovalWrites } from './sql-approvals.ts'
import { SqlBindingReads, SqlBindingWrites } from './sql-bindings.ts'
import { SqlBodyReads, SqlBodyWrites } from './sql-bodies.ts'
import { SqlCatalogReads, SqlCatalogWrites } from './sql-catalogs.ts'
import { SqlConditionReads, SqlConditionWrites } from './sql-conditions.ts'
import { SqlConnectionReads, SqlConnectionWrites } from './sql-connections.ts'
import { SqlCredentialReads, SqlCredentialWrites } from './sql-credentials.ts'
import { SqlDenyReads, SqlDenyWrites } from './sql-denials.ts'
import { SqlExecutionReads } from './sql-execution-reads.ts'
import { SqlExecutionWrites } from './sql-executions.ts'
import { SqlGrantReads, SqlGrantWrites } from './sql-grants.ts'
import { SqlInstanceReads, SqlInstanceWrites } from './sql-instances.ts'
import { SqlJournalReads, SqlJournalWrites } from './sql-journal.ts'
import { SqlKnownKeyReads, SqlKnownKeyWrites } from './sql-known-keys.ts'
import { SqlOAuthReads, SqlOAuthWrites } from './sql-oauth.ts'
import { SqlProfileReads, SqlProfileWrites } from './sql-profiles.ts'
import { SqlSandboxReads, SqlSandboxWrites } from './sql-sandboxes.ts'
import { SqlSealReads, SqlSealWrites } from './sql-seals.ts'
import { SqlServiceReads, SqlServiceWrites } from './sql-services.ts'
import { SqlSessionReads, SqlSessionWrites } from './sql-sessions.ts'
import { SqlSettingReads, SqlSettingWrites } from './sql-settings.ts'
import { SqlUserReads, SqlUserWrites } from './sql-users.ts'
import { SqlWebhookReads, SqlWebhookWrites } from './sql-webhooks.ts'

export function sqlReads(db: SqlReader): Reads {
  return {
    users: new SqlUserReads(db),
    connections: new SqlConnectionReads(db),
    credentials: new SqlCredentialReads(db),
    catalogs: new SqlCatalogReads(db),
    profiles: new SqlProfileReads(db),
    grants: new SqlGrantReads(db),
    sessions: new SqlSessionReads(db),
    sandboxes: new SqlSandboxReads(db),
    bindings: new SqlBindingReads(db),
    executions: new SqlExecutionReads(db),
    approvals: new SqlApprovalReads(db),
    bodies: new SqlBodyReads(db),
    journal: new SqlJournalReads(db),
    instances: new SqlInstanceReads(db),
    settings: new SqlSettingReads(db),
    vaultKeys: new SqlKnownKeyReads(db),
    seals: new SqlSealReads(db),
    webhooks: new SqlWebhookReads(db),
    oauth: new SqlOAuthReads(db),
    services: new SqlServiceReads(db),
    conditions: new SqlConditionReads(db),
    denials: new SqlDenyReads(db),
  }
}

/** What an engine does about locks, time and announcements in a transaction. */
export interface TxLocks {
  announce(ids: readonly ExecutionId[]): Promise<void>
  now(): Promise<number>
  lockAuthority(refs: AuthorityRefs): Promise<Authority>
  lockForChange(refs: Partial<AuthorityRefs> & { readonly pause?: true }): Promise<void>
}

/** Its nouns are made when they are asked for: a transaction uses three or four of them. */
class SqlTx implements Tx {
  readonly #tx: SqlWriter
  readonly #locks: TxLocks

  constructor(tx: SqlWriter, locks: TxLocks) {
    this.#tx = tx
    this.#locks = locks
  }

  get users() {
    return new SqlUserWrites(this.#tx)
  }

  get connections() {
    return new SqlConnectionWrites(this.#tx)
  }

  get credentials() {
    return new SqlCredentialWrites(this.#tx)
  }

  get catalogs() {
    return new SqlCatalogWrites(this.#tx)
  }

  get profiles() {
    return new SqlProfileWrites(this.#tx)
  }

  get grants() {
    return new SqlGrantWrites(this.#tx)
  }

  get sessions() {
    return new SqlSessionWrites(this.#tx)
  }

  get sandboxes() {
    return new SqlSandboxWrites(this.#tx)
  }

  get bindings() {
    return new SqlBindingWrites(this.#tx)
  }

  get executions() {
    return new SqlExecutionWrites(this.#tx)
  }

  get approvals() {
    return new SqlApprovalWrites(this.#tx)
  }

  get bodies() {
    return new SqlBodyWrites(this.#tx)
  }

  get journal() {
    return new SqlJournalWrites(this.#tx)
  }

  get instances() {
    return new SqlInstanceWrites(this.#tx)
  }

  get settings() {
    return new SqlSettingWrites(this.#tx)
  }

  get vaultKeys() {
    return new SqlKnownKeyWrites(this.#tx)
  }

  get seals() {
    return new SqlSealWrites(this.#tx)
  }

  get webhooks() {
    return new SqlWebhookWrites(this.#tx)
  }

  get oauth() {
    return new SqlOAuthWrites(this.#tx)
  }

  get services() {
    return new SqlServiceWrites(this.#tx)
  }

  get conditions() {
    return new SqlConditionWrites(this.#tx)
  }

  get denials() {
    return new SqlDenyWrites(this.#tx)
  }

  announce(ids: readonly ExecutionId[]): Promise<void> {
    return this.#locks.announce(ids)
  }

  now(): Promise<number> {
    return this.#locks.now()
  }

  lockAuthority(refs: AuthorityRefs): Promise<Authority> {
    return this.#locks.lockAuthority(refs)
  }

  lockForChange(refs: Partial<AuthorityRefs> & { readonly pause?: true }): Promise<void> {
    return this.#locks.lockForChange(refs)
  }
}

export function sqlTx(tx: SqlWriter, locks: TxLocks): Tx {
  return new SqlTx(tx, locks)
}
