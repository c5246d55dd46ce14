/** Every noun on a connection: outside transactions to read, inside one to read and write. */
import type { Authority, AuthorityRefs, Reads, Tx } from '@sallyport/core'
import type { SqlReader, SqlWriter } from './driver.ts'
import { SqlBindingReads, SqlBindingWrites } from './sql-bindings.ts'
import { SqlCatalogReads, SqlCatalogWrites } from './sql-catalogs.ts'
import { SqlConnectionReads, SqlConnectionWrites } from './sql-connections.ts'
import { SqlCredentialReads, SqlCredentialWrites } from './sql-credentials.ts'
import { SqlExecutionReads, SqlExecutionWrites } from './sql-executions.ts'
import { SqlGrantReads, SqlGrantWrites } from './sql-grants.ts'
import { SqlInstanceReads, SqlInstanceWrites } from './sql-instances.ts'
import { SqlJournalReads, SqlJournalWrites } from './sql-journal.ts'
import { SqlProfileReads, SqlProfileWrites } from './sql-profiles.ts'
import { SqlSessionReads, SqlSessionWrites } from './sql-sessions.ts'
import { SqlSettingReads, SqlSettingWrites } from './sql-settings.ts'
import { SqlUserReads, SqlUserWrites } from './sql-users.ts'

export function sqlReads(db: SqlReader): Reads {
  return {
    users: new SqlUserReads(db),
    connections: new SqlConnectionReads(db),
    credentials: new SqlCredentialReads(db),
    catalogs: new SqlCatalogReads(db),
    profiles: new SqlProfileReads(db),
    grants: new SqlGrantReads(db),
    sessions: new SqlSessionReads(db),
    bindings: new SqlBindingReads(db),
    executions: new SqlExecutionReads(db),
    journal: new SqlJournalReads(db),
    instances: new SqlInstanceReads(db),
    settings: new SqlSettingReads(db),
  }
}

/** What an engine does about locks and time in a transaction. */
export interface TxLocks {
  now(): Promise<number>
  lockAuthority(refs: AuthorityRefs): Promise<Authority>
  lockForChange(refs: Partial<AuthorityRefs> & { readonly pause?: true }): Promise<void>
}

export function sqlTx(tx: SqlWriter, locks: TxLocks): Tx {
  return {
    users: new SqlUserWrites(tx),
    connections: new SqlConnectionWrites(tx),
    credentials: new SqlCredentialWrites(tx),
    catalogs: new SqlCatalogWrites(tx),
    profiles: new SqlProfileWrites(tx),
    grants: new SqlGrantWrites(tx),
    sessions: new SqlSessionWrites(tx),
    bindings: new SqlBindingWrites(tx),
    executions: new SqlExecutionWrites(tx),
    journal: new SqlJournalWrites(tx),
    instances: new SqlInstanceWrites(tx),
    settings: new SqlSettingWrites(tx),
    now: () => locks.now(),
    lockAuthority: (refs) => locks.lockAuthority(refs),
    lockForChange: (refs) => locks.lockForChange(refs),
  }
}
