import { type DenyEntry, denyHost, type Origin, SallyportError } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import type { OAuthConnection } from '../oauth/oauth.ts'
import type { Reads } from '../store.ts'
import { unionOf } from './deny-set.ts'

/** Everything that a guest must not reach by itself, as the rows are now. */
export async function wantedEntries(
  reads: Pick<Reads, 'connections' | 'oauth' | 'denials'>,
): Promise<DenyEntry[]> {
  const connections = await reads.connections.list()
  const oauth = await reads.oauth.connections()
  const sources = await reads.denials.sources()
  return unionOf([
    ...connections.map((connection) => placesOf(connection, undefined)),
    ...oauth.map(({ places }) => places.map(entryOf)),
    ...sources.map(({ entries }) => entries),
  ])
}

/** Of one connection: its upstream, and the servers on the way of a sign-in. */
export function placesOf(
  { endpointClear }: Pick<Connection, 'endpointClear'>,
  oauth: Pick<OAuthConnection, 'places'> | undefined,
): DenyEntry[] {
  const origins = [...(endpointClear ? [endpointClear] : []), ...(oauth?.places ?? [])]
  return origins.map(entryOf)
}

export function entryOf({ host, port }: Pick<Origin, 'host' | 'port'>): DenyEntry {
  const written = denyHost(host)
  // What was judged as an endpoint is a host: this row is not what was written.
  if (written === undefined) throw new SallyportError('row_unreadable')
  return { host: written, port }
}
