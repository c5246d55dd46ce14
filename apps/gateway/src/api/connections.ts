import {
  type Actor,
  type Connection,
  checkMayManage,
  createConnection,
  disableConnection,
  editConnection,
  enableConnection,
  findConnection,
  maySee,
  recordListing,
  removeConnection,
} from '@sallyport/core'
import { type Answer, SallyportError, toSallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { authenticationOf, isPlaintext, secretsOfEdit, secretsOfNew } from './given-secrets.ts'
import type { HandlersOf } from './handlers.ts'
import { isUpstreamFailure, listUpstream } from './list-upstream.ts'
import { oauthHandlers } from './oauth.ts'
import { viewConnection } from './view-connection.ts'

export function connectionHandlers(deps: ApiDeps): HandlersOf<'connection'> {
  const { store, worker, destinations, denySets, log } = deps
  const find = (actor: Actor, name: string) => findConnection(store, actor, name)
  const view = (actor: Actor, connection: Connection) => viewConnection(deps, actor, connection)
  /** Says of a request that may have brought secrets whether they came as text. */
  const told = async (
    actor: Actor,
    connection: Connection,
    body: Parameters<typeof isPlaintext>[0],
  ): Promise<Answer<'connection.edit'>> => {
    const plaintext = isPlaintext(body)
    if (plaintext) log.info({ connection: connection.id }, 'a secret came as text')
    return { ...(await view(actor, connection)), plaintext }
  }
  /** Runs a verb on the connection meant; afterwards the worker forgets what it holds of it. */
  const change = async (
    actor: Actor,
    name: string,
    verb: (connection: Connection) => Promise<Connection>,
  ): Promise<Answer<'connection.show'>> => {
    const changed = await verb(await find(actor, name))
    worker.release(changed.id)
    denySets.changed()
    return view(actor, changed)
  }
  return {
    'connection.list': async ({ actor }) => {
      const visible = (await store.connections.list()).filter((one) => maySee(actor, one))
      return { items: await Promise.all(visible.map((one) => view(actor, one))) }
    },
    'connection.create': async ({ actor, body }) => {
      const resource = await resourceOf(deps, body.service)
      const secrets = secretsOfNew(deps, actor, body, resource)
      const input = { ...body, ...secrets, authentication: authenticationOf(body) }
      const created = await createConnection(deps, actor, input, destinations)
      denySets.changed()
      return told(actor, created, body)
    },
    'connection.show': async ({ actor, params }) => view(actor, await find(actor, params.name)),
    'connection.edit': async ({ actor, params, body }) => {
      const connection = checkMayManage(actor, await find(actor, params.name))
      const secrets = await secretsOfEdit(deps, connection, body)
      const input = { ...body, ...secrets }
      const edited = await editConnection(deps, actor, connection.id, input, destinations)
      worker.release(edited.id)
      denySets.changed()
      return told(actor, edited, body)
    },
    'connection.remove': ({ actor, params }) =>
      change(actor, params.name, ({ id }) => removeConnection(deps, actor, id)),
    'connection.enable': async ({ actor, params }) => {
      const { id } = await find(actor, params.name)
      return view(actor, await enable(deps, actor, id))
    },
    'connection.disable': ({ actor, params }) =>
      change(actor, params.name, ({ id }) => disableConnection(deps, actor, id)),
    ...oauthHandlers(deps),
    'connection.test': async ({ actor, params }) =>
      testConnection(deps, checkMayManage(actor, await find(actor, params.name))),
    'connection.refresh': async ({ actor, params }) => {
      const connection = checkMayManage(actor, await find(actor, params.name))
      worker.release(connection.id)
      const { listing, asked } = await listUpstream(deps, connection)
      await recordListing(store, asked, listing)
      return view(actor, (await store.connections.get(connection.id)) ?? connection)
    },
  }
}

/** Of a service that is offered. Throws `not_found`. */
async function resourceOf(
  { store }: Pick<ApiDeps, 'store'>,
  name: string | undefined,
): Promise<string | undefined> {
  if (name === undefined) return undefined
  const service = await store.services.byName(name)
  if (!service) throw new SallyportError('not_found', { field: 'service' })
  return service.resource
}

/** What guests could reach by themselves until now is denied to all that run, and only then it is enabled. */
async function enable(deps: ApiDeps, actor: Actor, id: Connection['id']): Promise<Connection> {
  try {
    return await enableConnection(deps, actor, id)
  } catch (thrown) {
    if (toSallyportError(thrown).code !== 'deny_set_pending') throw thrown
    await deps.denySets.settle()
    return enableConnection(deps, actor, id)
  }
}

/** What the upstream does wrong is the answer; what goes wrong on our side is an error. */
async function testConnection(
  deps: ApiDeps,
  connection: Connection,
): Promise<Answer<'connection.test'>> {
  const started = performance.now()
  const answer = { id: connection.id, code: null, era: null, tools: null }
  const tookMs = (): number => Math.round(performance.now() - started)
  try {
    const { listing } = await listUpstream(deps, connection)
    const { era, tools } = listing
    return { ...answer, state: 'ok', era, tools: tools.length, tookMs: tookMs() }
  } catch (thrown) {
    const error = toSallyportError(thrown)
    if (!isUpstreamFailure(error.code)) throw error
    return { ...answer, state: 'failed', code: error.code, tookMs: tookMs() }
  }
}
