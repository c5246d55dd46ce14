import type { ConnectionId, SessionId } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import { orgScope } from '../connection/scope.ts'
import type { Profile } from '../profile/profile.ts'
import type { Isolation } from '../session/session.ts'
import type { Reads } from '../store.ts'
import type { User } from '../user/user.ts'
import type { BindingInput } from './bind-session.ts'

/** Everything that decides what a new session of this owner gets. */
export async function readBindingInput(
  reads: Reads,
  sessionId: SessionId,
  profile: Profile,
  owner: User,
  isolation: Isolation,
): Promise<BindingInput> {
  const grants = (await reads.grants.ofProfile(profile.id)).filter(
    ({ ownerId }) => ownerId === null || ownerId === owner.id,
  )
  const connections = await reads.connections.getMany([
    ...new Set(grants.map(({ connectionId }) => connectionId)),
  ])
  return {
    sessionId,
    isolation,
    profile,
    grants,
    connections: byId<ConnectionId, Connection>(connections),
    orgConnections: (await reads.connections.list([orgScope])).filter(
      ({ everEnabled }) => everEnabled,
    ),
    ...(await readCatalogs(reads, connections)),
  }
}

async function readCatalogs(
  reads: Reads,
  connections: readonly Connection[],
): Promise<Pick<BindingInput, 'credentials' | 'catalogs' | 'tools'>> {
  const credentials = []
  const catalogs = []
  const tools = []
  for (const { credentialId, publishedId } of connections) {
    const credential = credentialId && (await reads.credentials.get(credentialId))
    if (credential) credentials.push(credential)
    const catalog = publishedId && (await reads.catalogs.get(publishedId))
    if (!catalog) continue
    catalogs.push(catalog)
    tools.push([catalog.id, await reads.catalogs.tools(catalog.id)] as const)
  }
  return { credentials: byId(credentials), catalogs: byId(catalogs), tools: new Map(tools) }
}

function byId<I, R extends { readonly id: I }>(rows: readonly R[]): ReadonlyMap<I, R> {
  return new Map(rows.map((row) => [row.id, row]))
}
