import {
  type Actor,
  type Binding,
  confirmDenySet,
  createSession,
  endSession,
  hearOwner,
  isKept,
  type Session,
  type SessionSandbox,
  sessionDenySet,
  showEvidence,
} from '@sallyport/core'
import {
  type Answer,
  isId,
  type RequestBody,
  SallyportError,
  type SessionId,
} from '@sallyport/protocol'
import { digestOf } from '@sallyport/protocol/node'
import type { Places } from '../relay/guest-ways.ts'
import type { ApiDeps } from './api-deps.ts'
import { viewDenial, viewDenySet } from './deny-set.ts'
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
      const continues = body.continues === undefined ? undefined : sessionId(body.continues)
      checkWays(body)
      const places = await placesOf(deps, actor, body)
      const created = await createSession(deps, actor, { ...body, continues })
      const { session, bindings, secret, ownerKey, denySet } = created
      await openWays(deps, actor, session, places)
      return {
        id: session.id,
        state: session.state,
        endpoint: `${deps.guestUrl()}/mcp`,
        token: secret,
        ...(ownerKey === null ? {} : { ownerKey }),
        ...places,
        connections: viewConnections(deps, bindings),
        unavailable: [...session.unavailable],
        denySet: viewDenySet(denySet),
      }
    },
    'session.show': async ({ actor, params }) => show(await ownSession(deps, actor, params.id)),
    'session.denySet': async ({ actor, params }) => {
      const { id } = await ownSession(deps, actor, params.id)
      return viewDenySet(await sessionDenySet(store, id))
    },
    'session.confirmDenySet': async ({ actor, params, body }) => {
      const id = sessionId(params.id)
      const denial = await confirmDenySet(deps, actor, id, body)
      return viewDenial(denial, body.revision, await isKept(store, id))
    },
    'session.evidence': async ({ actor, params, body }) =>
      show(await showEvidence(deps, deps.inFlight, actor, sessionId(params.id), body)),
    'session.heartbeat': async ({ actor, params, body }) => {
      const heard = { ...body, since: deps.self.startedAt }
      const { session, prove, denySet } = await hearOwner(deps, actor, sessionId(params.id), heard)
      const { id, state, endReason } = session
      return { id, state, endReason, prove, denySet }
    },
    'session.end': async ({ actor, params, body: { ownerKey, reason } }) => {
      const owners = ownerKey && reason ? { ownerKey, reason } : undefined
      return show(await endSession(deps, deps.inFlight, actor, sessionId(params.id), owners))
    },
  }
}

/** Into a sandbox that is verified leads what can tell who is at its other end. */
function checkWays({ sandbox, socket, relay }: RequestBody<'session.create'>): void {
  if (sandbox === undefined) return
  if (relay !== undefined) throw new SallyportError('bad_request', { field: 'relay' })
  if (socket === undefined) throw new SallyportError('bad_request', { field: 'socket' })
}

/** The gateway makes them as its own user: only who may tell it anything may say where. */
async function placesOf(
  { guestWays }: ApiDeps,
  { role }: Actor,
  { socket, relay }: RequestBody<'session.create'>,
): Promise<Places> {
  const field = socket === undefined ? 'relay' : 'socket'
  if (role !== 'admin' && (socket ?? relay) !== undefined)
    throw new SallyportError('not_allowed', { field })
  return guestWays.check({ socket, relay })
}

async function openWays(
  deps: ApiDeps,
  actor: Actor,
  session: Session,
  places: Places,
): Promise<void> {
  try {
    await deps.guestWays.open(session, places)
  } catch (thrown) {
    // A session that cannot be reached as it was asked for is of no use to anybody.
    await endSession(deps, deps.inFlight, actor, session.id)
    throw thrown
  }
}

function sessionId(text: string): SessionId {
  if (!isId('session', text)) throw new SallyportError('not_found', { field: 'id' })
  return text
}

/** One's own, or any for an administrator. */
async function ownSession(
  { store }: Pick<ApiDeps, 'store'>,
  { userId, role }: Actor,
  id: string,
): Promise<Session> {
  const session = await store.sessions.get(sessionId(id))
  if (!session || (session.ownerId !== userId && role !== 'admin'))
    throw new SallyportError('not_found', { field: 'id' })
  return session
}

async function viewSession(deps: ApiDeps, session: Session): Promise<Answer<'session.show'>> {
  const { store } = deps
  const [profile, owner, bindings, sandbox] = await Promise.all([
    store.profiles.get(session.profileId),
    store.users.get(session.ownerId),
    store.bindings.ofSession(session.id),
    store.sandboxes.get(session.id),
  ])
  const callable = await callableTools(deps, session)
  const shown = deps.shownTools(session.id)
  return {
    id: session.id,
    state: session.state,
    profile: profile?.name ?? session.profileId,
    owner: owner?.name ?? session.ownerId,
    isolation: session.isolation,
    label: session.label,
    continues: session.continues,
    createdAt: viewTime(session.createdAt),
    expiresAt: viewTime(session.expiresAt),
    endedAt: viewTimeOrNull(session.endedAt),
    endReason: session.endReason,
    endpoint: `${deps.guestUrl()}/mcp`,
    connections: viewConnections(deps, bindings),
    tools: bindings.map((binding) => viewTool(binding, { callable, shown })),
    unavailable: [...session.unavailable],
    sandbox: sandbox ? viewSandbox(sandbox) : null,
    denySet: await denialOf(deps, session),
  }
}

async function denialOf(
  { store }: Pick<ApiDeps, 'store'>,
  { id }: Session,
): Promise<Answer<'session.show'>['denySet']> {
  const denial = await store.denials.ofSession(id)
  if (!denial) return null
  const newest = await store.denials.newest()
  return viewDenial(denial, newest?.revision ?? 0, await isKept(store, id))
}

interface ToolCondition {
  readonly callable: ReadonlySet<Binding['id']>
  readonly shown: ReadonlySet<string>
}

function viewTool(
  { id, connectionName, exposedName, tool, mode, hash }: Binding,
  { callable, shown }: ToolCondition,
): Answer<'session.show'>['tools'][number] {
  const name = `${connectionName}__${exposedName}`
  const state = callable.has(id) ? 'callable' : 'not_callable'
  const is = { state, shown: shown.has(name) }
  return { name, connection: connectionName, tool, mode, bindingHash: hash, ...is }
}

function viewSandbox({
  plan,
  evidence,
  owner,
  provedAt,
  seenAt,
}: SessionSandbox): NonNullable<Answer<'session.show'>['sandbox']> {
  return {
    plan: digestOf(plan),
    evidence: evidence ? digestOf(evidence) : null,
    owner: owner.pid,
    provedAt: viewTimeOrNull(provedAt),
    seenAt: viewTime(seenAt),
    nesting: plan.nesting,
    reach: plan.reach ?? null,
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
