import type { Connection } from '../connection/connection.ts'
import type { Credential } from '../credential/credential.ts'
import type { Store } from '../store.ts'

/** Of a connection, unless it was revoked. */
export async function presentCredential(
  { credentials }: Pick<Store, 'credentials'>,
  { credentialId }: Pick<Connection, 'credentialId'>,
): Promise<Credential | undefined> {
  const credential = credentialId === null ? undefined : await credentials.get(credentialId)
  return credential?.state === 'revoked' ? undefined : credential
}
