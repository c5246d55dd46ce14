import {
  type ApiToken,
  createToken,
  createUser,
  disableUser,
  revokeToken,
  tokenState,
  type User,
} from '@sallyport/core'
import { type Answer, isId, SallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

export function userHandlers(deps: ApiDeps): HandlersOf<'whoami' | 'user' | 'token'> {
  const { store, now } = deps
  return {
    'whoami.show': async ({ user }) => viewUser(user),
    'user.list': async () => ({ items: (await store.users.list()).map(viewUser) }),
    'user.create': async ({ actor, body }) => viewUser(await createUser(deps, actor, body)),
    'user.disable': async ({ actor, params }) =>
      viewUser(await disableUser(deps, deps.inFlight, actor, params.name)),
    'token.list': async ({ actor }) => {
      const all = actor.role === 'admin'
      const names = new Map((await store.users.list()).map(({ id, name }) => [id, name]))
      const tokens = await store.users.tokens(all ? undefined : actor.userId)
      return { items: tokens.map((token) => viewToken(token, names.get(token.userId), now())) }
    },
    'token.create': async ({ actor, body }) => {
      const { token, secret } = await createToken(deps, actor, body)
      return { token: viewToken(token, body.user, now()), secret }
    },
    'token.revoke': async ({ actor, params }) => {
      if (!isId('token', params.id)) throw new SallyportError('not_found', { field: 'id' })
      const token = await revokeToken(deps, actor, params.id)
      return viewToken(token, (await store.users.get(token.userId))?.name, now())
    },
  }
}

function viewUser({ id, name, role, createdAt, disabledAt }: User): Answer<'whoami.show'> {
  const state = disabledAt === null ? 'active' : 'disabled'
  return { id, name, role, state, createdAt: viewTime(createdAt) }
}

function viewToken(token: ApiToken, user: string | undefined, now: number): Answer<'token.revoke'> {
  return {
    id: token.id,
    state: tokenState(token, now),
    userId: token.userId,
    user: user ?? '',
    label: token.label,
    createdAt: viewTime(token.createdAt),
    expiresAt: viewTimeOrNull(token.expiresAt),
  }
}
