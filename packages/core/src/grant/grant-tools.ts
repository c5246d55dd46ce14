import { type GrantLimits, SallyportError } from '@sallyport/protocol'
import type { CatalogTool } from '../catalog/catalog.ts'
import { matchesGlob } from '../catalog/glob.ts'
import type { Connection } from '../connection/connection.ts'
import { checkMayManage, findConnection } from '../connection/connection-access.ts'
import type { Deps } from '../deps.ts'
import { findProfile } from '../profile/find-profile.ts'
import type { Profile } from '../profile/profile.ts'
import type { Reads, Tx } from '../store.ts'
import { confirmActor } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { checkApprovers, checkLimits } from './check-limits.ts'
import type { Grant, Mode } from './grant.ts'
import { admitsPersonal, grantDigest, modeFits } from './grant-rules.ts'
import { revokeAll } from './revoke-grants.ts'

export interface GrantRequest {
  readonly profile: string
  /** Name or id. */
  readonly connection: string
  /** Pattern over upstream names. */
  readonly tools: string
  readonly mode: Mode
  readonly limits: GrantLimits
  /** Of `write_unattended`: that nobody is asked was said on purpose. */
  readonly confirmUnattended?: boolean | undefined
}

/**
 * Expands the pattern once, against what the published catalog includes and the mode fits, and grants each tool; a grant
 * for the same tool gives way in the same transaction. Throws `not_allowed`, `not_confirmed`, `not_published`,
 * `no_such_tool`, `mode_mismatch`, `bad_schema`, `fixed_argument`, `bad_request` for approvers that nobody can be, and
 * `conflict` when the catalog moved meanwhile.
 */
export async function grantTools(
  { store, ids }: Deps,
  actor: Actor,
  request: GrantRequest,
): Promise<Grant[]> {
  const seen = await prepare(store, actor, request)
  return store.transact(async (tx) => {
    const confirmed = await confirmActor(tx, actor)
    await tx.lockForChange({
      connections: [seen.connection.id],
      catalogs: [seen.catalogId],
      profiles: [seen.profile.id],
    })
    const { connection, profile } = await checkUnmoved(tx, confirmed, request, seen)
    const names = new Set(seen.tools.map(({ name }) => name))
    const former = (await tx.grants.ofProfile(profile.id)).filter(
      (grant) => grant.connectionId === connection.id && names.has(grant.tool),
    )
    await revokeAll(tx, former)
    const now = await tx.now()
    const grants = seen.tools.map(
      ({ name }): Grant => ({
        id: ids('grant'),
        profileId: profile.id,
        connectionId: connection.id,
        tool: name,
        mode: request.mode,
        limits: request.limits,
        digest: grantDigest({
          profileId: profile.id,
          connectionId: connection.id,
          tool: name,
          mode: request.mode,
          limits: request.limits,
        }),
        ownerId: connection.ownerId,
        createdBy: confirmed.userId,
        createdAt: now,
        revokedAt: null,
      }),
    )
    for (const grant of grants) {
      if (!(await tx.grants.insert(grant))) throw new SallyportError('conflict')
    }
    return grants
  })
}

interface Prepared {
  readonly profile: Profile
  readonly connection: Connection
  readonly catalogId: NonNullable<Connection['publishedId']>
  readonly tools: readonly CatalogTool[]
}

/** Everything that takes time (schemas) is checked before the locks. */
async function prepare(reads: Reads, actor: Actor, request: GrantRequest): Promise<Prepared> {
  const profile = await findProfile(reads, request.profile)
  const connection = await findConnection(reads, actor, request.connection)
  checkMayGrant(actor, connection, profile, request.mode)
  if (request.mode === 'write_unattended' && request.confirmUnattended !== true)
    throw new SallyportError('not_confirmed', { field: 'confirmUnattended' })
  checkApprovers(request.limits, connection.ownerId !== null)
  const catalogId = connection.publishedId
  if (catalogId === null) throw new SallyportError('not_published')
  const matching = (await reads.catalogs.tools(catalogId)).filter(
    ({ name, decision }) => decision === 'include' && matchesGlob(request.tools, name),
  )
  if (matching.length === 0) throw new SallyportError('no_such_tool', { field: 'tools' })
  const tools = matching.filter(({ access }) => modeFits(request.mode, access))
  if (tools.length === 0) throw new SallyportError('mode_mismatch', { field: 'mode' })
  checkLimits(request.limits, tools)
  return { profile, connection, catalogId, tools }
}

/** The owner of a personal connection grants it, as far as the profile lets owners; administrators grant the others. */
function checkMayGrant(actor: Actor, connection: Connection, profile: Profile, mode: Mode): void {
  checkMayManage(actor, connection)
  const isPersonal = connection.ownerId !== null
  if (isPersonal && !admitsPersonal(profile.settings.personal, mode))
    throw new SallyportError('not_allowed', { field: 'mode' })
}

async function checkUnmoved(
  tx: Tx,
  actor: Actor,
  request: GrantRequest,
  seen: Prepared,
): Promise<Pick<Prepared, 'connection' | 'profile'>> {
  const profile = await findProfile(tx, seen.profile.id)
  const connection = checkMayManage(actor, await tx.connections.get(seen.connection.id))
  checkMayGrant(actor, connection, profile, request.mode)
  if (connection.publishedId !== seen.catalogId) throw new SallyportError('conflict')
  return { profile, connection }
}
