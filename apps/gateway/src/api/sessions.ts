import { type Binding, createSession, endSession, type Session } from '@sallyport/core'
import { type Answer, isId, SallyportError, type SessionId } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

const listLimit = 200

export function sessionHandlers(deps: ApiDeps): HandlersOf<'session'> {
  const { store } = deps
  const show = (session: Session): Promise<Answer<'session.show'>> => viewSession(deps, session)
  return {
    'session.list': async ({ actor, query: { state } }) => {
      const sessions = await store.sessions.list({
        limit: listLimit,
        ...(actor.role === 'admin' ? {} : { ownerId: actor.userId }),
        ...(state === undefined ? {} : { state }),
      })
      return { items: await Promise.all(sessions.map(show)) }
    },
    'session.create': async ({ actor, body }) => {
      const { session, bindings, secret } = await createSession(deps, actor, body)
      return {
        id: session.id,
        state: session.state,
        endpoint: `${deps.guestUrl()}/mcp`,
        token: secret,
        connections: viewConnections(deps, bindings),
        unavailable: [...session.unavailable],
      }
    },
    'session.show': async ({ actor, params }) => {
      const session = await store.sessions.get(sessionId(params.id))
      if (!session || (session.ownerId !== actor.userId && actor.role !== 'admin'))
        throw new SallyportError('not_found', { field: 'id' })
      return show(session)
    },
    'session.end': async ({ actor, params }) =>
      show(await endSession(deps, deps.inFlight, actor, sessionId(params.id))),
  }
}

function sessionId(text: string): SessionId {
  if (!isId('session', text)) throw new SallyportError('not_found', { field: 'id' })
  return text
}

async function viewSession(deps: ApiDeps, session: Session): Promise<Answer<'session.show'>> {
  const { store } = deps
  const [profile, owner, bindings] = await Promise.all([
    store.profiles.get(session.profileId),
    store.users.get(session.ownerId),
    store.bindings.ofSession(session.id),
  ])
  const callable = await callableTools(deps, session)
  return {
    id: session.id,
    state: session.state,
    profile: profile?.name ?? session.profileId,
    owner: owner?.name ?? session.ownerId,
    isolation: session.isolation,
    label: session.label,
    createdAt: viewTime(session.createdAt),
    expiresAt: viewTime(session.expiresAt),
    endedAt: viewTimeOrNull(session.endedAt),
    endReason: session.endReason,
    endpoint: `${deps.guestUrl()}/mcp`,
    connections: viewConnections(deps, bindings),
    tools: bindings.map((binding) => ({
      name: `${binding.connectionName}__${binding.exposedName}`,
      connection: binding.connectionName,
      tool: binding.tool,
      mode: binding.mode,
      bindingHash: binding.hash,
      state: callable.has(binding.id) ? 'callable' : 'not_callable',
    })),
    unavailable: [...session.unavailable],
  }
}

/** Ids of the bindings that current authority lets be called. */
async function callableTools(
  { toolsets }: ApiDeps,
  session: Session,
): Promise<ReadonlySet<Binding['id']>> {
  if (session.state !== 'open') return new Set()
  const tools = await toolsets.callable(session, await toolsets.of(session))
  return new Set(tools.map(({ binding }) => binding.id))
}

function viewConnections(
  deps: ApiDeps,
  bindings: readonly Binding[],
): Answer<'session.create'>['connections'] {
  const names = [...new Set(bindings.map(({ connectionName }) => connectionName))]
  return names.map((name) => ({
    name,
    endpoint: `${deps.guestUrl()}/mcp/${name}`,
    tools: bindings.filter(({ connectionName }) => connectionName === name).length,
  }))
}
