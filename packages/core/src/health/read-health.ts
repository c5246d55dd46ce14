import type { Connection } from '../connection/connection.ts'
import type { Reads } from '../store.ts'
import type { RecordedHealth } from './connection-condition.ts'

/** Everything that is recorded of how a connection is. */
export async function readHealth(
  reads: Pick<Reads, 'connections' | 'credentials' | 'catalogs' | 'oauth'>,
  connection: Connection,
): Promise<RecordedHealth> {
  const { id, credentialId, publishedId } = connection
  const [credential, oauth, observation, catalog] = await Promise.all([
    credentialId === null ? undefined : reads.credentials.get(credentialId),
    reads.oauth.connection(id),
    reads.connections.observation(id),
    publishedId === null ? undefined : reads.catalogs.get(publishedId),
  ])
  return { connection, credential, oauth, observation, publishedDigest: catalog?.digest }
}
