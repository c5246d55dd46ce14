import { type CredentialId, SallyportError } from '@sallyport/protocol'
import { checkCredential, type GivenCredential } from '../connection/check-secrets.ts'
import type { Connection } from '../connection/connection.ts'
import type { Tx } from '../store.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import type { Credential } from './credential.ts'
import { insertCredential } from './insert-credential.ts'

/**
 * Gives a connection, whose row is locked, another secret or none; what it had under another id has ended already. Under the present credential's id it is the next
 * version of the same account and running sessions go on with it; under another id no old binding points to it.
 * Returns the connection as it is to be saved.
 */
export async function replaceCredential(
  tx: Tx,
  connection: Connection,
  given: GivenCredential | null,
): Promise<Connection> {
  const old = connection.credentialId
  if (given === null) return { ...connection, credentialId: null }
  if (given.id === old) {
    await nextVersion(tx, connection, given)
    return connection
  }
  await insertCredential(tx, connection, given)
  return { ...connection, credentialId: given.id }
}

async function nextVersion(tx: Tx, connection: Connection, given: GivenCredential): Promise<void> {
  const before = await lockCredential(tx, given.id)
  const version = before.version + 1
  checkCredential(given, connection.scope, version)
  await holdSealKey(tx, given.seal)
  await save(tx, before, { ...before, version, state: 'active', ...given })
}

/** Ends a credential; the seal goes with it. */
export async function revokeCredential(tx: Tx, id: CredentialId): Promise<void> {
  const before = await lockCredential(tx, id)
  if (before.state === 'revoked') return
  await save(tx, before, { ...before, version: before.version + 1, state: 'revoked', seal: '' })
}

async function lockCredential(tx: Tx, id: CredentialId): Promise<Credential> {
  await tx.lockForChange({ credentials: [id] })
  const credential = await tx.credentials.get(id)
  if (!credential) throw new SallyportError('row_unreadable')
  return credential
}

async function save(tx: Tx, before: Credential, after: Credential): Promise<void> {
  const updated = await tx.credentials.update(
    { ...after, updatedAt: await tx.now() },
    before.version,
  )
  if (!updated) throw new SallyportError('conflict', { field: 'credential' })
}
