import {
  type Actor,
  createProfile,
  findProfile,
  type Grant,
  grantTools,
  type Profile,
  revokeGrants,
} from '@sallyport/core'
import { type Answer, type ConnectionId, profileSettings } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime } from './view-time.ts'

export function profileHandlers(deps: ApiDeps): HandlersOf<'profile'> {
  const { store } = deps
  return {
    'profile.list': async ({ actor }) => ({
      items: await Promise.all(
        (await store.profiles.list())
          .filter(({ state }) => state === 'active')
          .map((profile) => viewProfile(deps, actor, profile)),
      ),
    }),
    'profile.create': async ({ actor, body: { name, settings } }) => {
      const profile = await createProfile(deps, actor, {
        name,
        settings: profileSettings.parse(settings),
      })
      return viewProfile(deps, actor, profile)
    },
    'profile.show': async ({ actor, params }) =>
      viewProfile(deps, actor, await findProfile(store, params.name)),
    'profile.grant': async ({ actor, params, body }) =>
      viewGrants(deps, actor, await grantTools(deps, actor, { ...body, profile: params.name })),
    'profile.revoke': async ({ actor, params, body }) =>
      viewGrants(deps, actor, await revokeGrants(deps, actor, { ...body, profile: params.name })),
  }
}

async function viewProfile(
  deps: ApiDeps,
  actor: Actor,
  profile: Profile,
): Promise<Answer<'profile.show'>> {
  const grants = (await deps.store.grants.ofProfile(profile.id)).filter(
    ({ ownerId }) => ownerId === null || ownerId === actor.userId || actor.role === 'admin',
  )
  return {
    id: profile.id,
    name: profile.name,
    state: profile.state,
    settings: profile.settings,
    grants: (await viewGrants(deps, actor, grants)).items,
    createdAt: viewTime(profile.createdAt),
  }
}

async function viewGrants(
  { store }: ApiDeps,
  actor: Actor,
  grants: readonly Grant[],
): Promise<Answer<'profile.grant'>> {
  const ids = [...new Set(grants.map(({ connectionId }) => connectionId))]
  const connections = await store.connections.getMany(ids)
  const names = new Map(connections.map(({ id, name }) => [id, name]))
  return { items: grants.map((grant) => viewGrant(grant, actor, names)) }
}

/** Of the grant of another's own connection an administrator sees the digest, not the limits. */
function viewGrant(
  grant: Grant,
  actor: Actor,
  names: ReadonlyMap<ConnectionId, string>,
): Answer<'profile.grant'>['items'][number] {
  const isForeign = grant.ownerId !== null && grant.ownerId !== actor.userId
  return {
    id: grant.id,
    state: grant.revokedAt === null ? 'active' : 'revoked',
    profileId: grant.profileId,
    connectionId: grant.connectionId,
    connection: names.get(grant.connectionId) ?? grant.connectionId,
    tool: grant.tool,
    mode: grant.mode,
    limits: isForeign ? {} : grant.limits,
    digest: grant.digest,
    ownerId: grant.ownerId,
    createdAt: viewTime(grant.createdAt),
  }
}
