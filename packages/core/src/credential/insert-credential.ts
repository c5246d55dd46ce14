import { type ConnectionId, SallyportError } from '@sallyport/protocol'
import { checkCredential, type GivenCredential } from '../connection/check-secrets.ts'
import type { Scope } from '../connection/connection.ts'
import type { Tx } from '../store.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'

/** The first version of a credential. Throws as `checkCredential`, and `conflict` when its id is in use. */
export async function insertCredential(
  tx: Tx,
  connection: { readonly id: ConnectionId; readonly scope: Scope },
  given: GivenCredential,
): Promise<void> {
  checkCredential(given, connection.scope, 1)
  await holdSealKey(tx, given.seal)
  const now = await tx.now()
  const inserted = await tx.credentials.insert({
    ...given,
    connectionId: connection.id,
    version: 1,
    state: 'active',
    createdAt: now,
    updatedAt: now,
  })
  if (!inserted) throw new SallyportError('conflict', { field: 'credential' })
}
