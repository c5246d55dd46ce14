import type { ConnectionId } from '@sallyport/protocol'
import { mayUse } from '../connection/connection-access.ts'
import type { Reads } from '../store.ts'
import type { Actor } from '../user/user.ts'

/** Tools that other connections have published, of those that the actor may know: a new listing could imitate them. */
export async function foreignNames(
  reads: Reads,
  actor: Actor,
  self: ConnectionId,
): Promise<string[]> {
  const names = new Set<string>()
  for (const connection of await reads.connections.list()) {
    const { id, publishedId } = connection
    if (id === self || publishedId === null || !mayUse(actor, connection)) continue
    for (const tool of await reads.catalogs.tools(publishedId))
      if (tool.decision === 'include') names.add(tool.name)
  }
  return [...names]
}
