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
import { type Answer, toSallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import { secretsOfEdit, secretsOfNew } from './given-secrets.ts'
import type { HandlersOf } from './handlers.ts'
import { isUpstreamFailure, listUpstream } from './list-upstream.ts'
import { viewConnection } from './view-connection.ts'

export function connectionHandlers(deps: ApiDeps): HandlersOf<'connection'> {
  const { store, worker, destinations } = deps
  const find = (actor: Actor, name: string) => findConnection(store, actor, name)
  const view = (actor: Actor, connection: Connection) => viewConnection(deps, actor, connection)
  /** Runs a verb on the connection meant; afterwards the worker forgets what it holds of it. */
  const change = async (
    actor: Actor,
    name: string,
    verb: (connection: Connection) => Promise<Connection>,
  ): Promise<Answer<'connection.show'>> => {
    const changed = await verb(await find(actor, name))
    worker.release(changed.id)
    return view(actor, changed)
  }
  return {
    'connection.list': async ({ actor }) => {
      const visible = (await store.connections.list()).filter((one) => maySee(actor, one))
      return { items: await Promise.all(visible.map((one) => view(actor, one))) }
    },
    'connection.create': async ({ actor, body }) => {
      const secrets = secretsOfNew(deps, actor, body)
      const input = { ...body, ...secrets }
      return view(actor, await createConnection(deps, actor, input, destinations))
    },
    'connection.show': async ({ actor, params }) => view(actor, await find(actor, params.name)),
    'connection.edit': ({ actor, params, body }) =>
      change(actor, params.name, async (connection) => {
        checkMayManage(actor, connection)
        const secrets = await secretsOfEdit(deps, connection, body)
        const input = { ...body, ...secrets }
        return editConnection(deps, actor, connection.id, input, destinations)
      }),
    'connection.remove': ({ actor, params }) =>
      change(actor, params.name, ({ id }) => removeConnection(deps, actor, id)),
    'connection.enable': async ({ actor, params }) => {
      const { id } = await find(actor, params.name)
      return view(actor, await enableConnection(deps, actor, id))
    },
    'connection.disable': ({ actor, params }) =>
      change(actor, params.name, ({ id }) => disableConnection(deps, actor, id)),
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
