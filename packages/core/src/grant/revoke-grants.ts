import { SallyportError } from '@sallyport/protocol'
import { matchesGlob } from '../catalog/glob.ts'
import type { Deps } from '../deps.ts'
import { findProfile } from '../profile/find-profile.ts'
import type { Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Grant } from './grant.ts'

/**
 * Takes back every grant of a profile that the pattern matches, also of a connection that was removed. Administrators
 * take any, others those of their own connections. When it resolves no barrier passes by them. Throws `no_such_tool`
 * when nothing matches.
 */
export function revokeGrants(
  { store }: Deps,
  actor: Actor,
  input: { readonly profile: string; readonly connection: string; readonly tools: string },
): Promise<Grant[]> {
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    const profile = await findProfile(tx, input.profile)
    const onConnection = await grantsOnConnection(
      tx,
      await tx.grants.ofProfile(profile.id),
      input.connection,
    )
    const matching = onConnection.filter(({ tool }) => matchesGlob(input.tools, tool))
    const mine = matching.filter(
      ({ ownerId }) => confirmed.role === 'admin' || ownerId === confirmed.userId,
    )
    if (mine.length === 0 && matching.some(({ ownerId }) => ownerId === null))
      throw new SallyportError('not_allowed')
    if (mine.length === 0) throw new SallyportError('no_such_tool', { field: 'tools' })
    return revokeAll(tx, mine)
  })
}

async function grantsOnConnection(
  tx: Tx,
  grants: readonly Grant[],
  nameOrId: string,
): Promise<Grant[]> {
  const ids = [...new Set(grants.map(({ connectionId }) => connectionId))]
  const connections = await tx.connections.getMany(ids)
  const meant = new Set(
    connections.filter(({ id, name }) => id === nameOrId || name === nameOrId).map(({ id }) => id),
  )
  return grants.filter(({ connectionId }) => meant.has(connectionId))
}

/** Revokes under the lock of the grants; those that were revoked meanwhile are left out. */
export async function revokeAll(tx: Tx, grants: readonly Grant[]): Promise<Grant[]> {
  await tx.lockForChange({ grants: grants.map(({ id }) => id).sort() })
  const now = await tx.now()
  const revoked: Grant[] = []
  for (const grant of grants) {
    if (await tx.grants.revoke(grant.id, now)) revoked.push({ ...grant, revokedAt: now })
  }
  return revoked
}
