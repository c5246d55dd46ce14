import type { ErrorCode } from '@sallyport/protocol'
import { saveConnection } from '../connection/save-connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Tx } from '../store.ts'

/** Both rows are locked and the version has not moved: a person has to sign in again, and the health says why. */
export async function markBroken(
  tx: Tx,
  credential: Credential,
  code: ErrorCode,
): Promise<'unusable'> {
  const { id, connectionId, version } = credential
  const now = await tx.credentials.get(id)
  if (now?.state !== 'active') return 'unusable'
  const at = await tx.now()
  await tx.credentials.update({ ...now, state: 'broken', updatedAt: at }, version)
  const connection = await tx.connections.get(connectionId)
  if (connection?.credentialId === id && connection.state !== 'deleted') {
    const health = { state: 'unauthorized', code, at } as const
    await saveConnection(tx, connection, { ...connection, health })
  }
  return 'unusable'
}
