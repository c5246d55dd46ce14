import {
  type Actor,
  type BodyKind,
  type Execution,
  isPersonal,
  openBody,
  resolveExecution,
} from '@sallyport/core'
import { isId, SallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewExecutions } from './view-execution.ts'

export function executionHandlers(deps: ApiDeps): HandlersOf<'execution'> {
  const { store } = deps
  const view = async (execution: Execution) => {
    const [seen] = await viewExecutions(store, [execution])
    if (!seen) throw new SallyportError('internal')
    return seen
  }
  return {
    'execution.list': async ({ actor, query: { session, state, limit } }) => {
      if (session !== undefined && !isId('session', session))
        throw new SallyportError('bad_request', { field: 'session' })
      const executions = await store.executions.list({
        limit,
        ...(actor.role === 'admin' ? {} : { ownerId: actor.userId }),
        ...(session === undefined ? {} : { sessionId: session }),
        ...(state === undefined ? {} : { state }),
      })
      return { items: await viewExecutions(store, executions) }
    },
    'execution.show': async ({ actor, params }) => {
      const execution = isId('execution', params.id)
        ? await store.executions.get(params.id)
        : undefined
      if (!execution || (execution.ownerId !== actor.userId && actor.role !== 'admin'))
        throw new SallyportError('not_found', { field: 'id' })
      const [seen, arguments_, result] = await Promise.all([
        view(execution),
        bodyOf(deps, actor, execution, 'arguments'),
        bodyOf(deps, actor, execution, 'result'),
      ])
      return { ...seen, arguments: arguments_, result }
    },
    'execution.resolve': async ({ actor, params, body }) =>
      view(await resolveExecution(deps, actor, params.id, body)),
  }
}

/** Of a personal connection an administrator sees digests only. What does not open is not there; the log says so. */
async function bodyOf(
  { store, bodies, log }: ApiDeps,
  { userId }: Actor,
  execution: Execution,
  kind: BodyKind,
): Promise<string | null> {
  const { id, ownerId } = execution
  if (ownerId !== userId && (await isPersonal(store, execution))) return null
  try {
    return await openBody(store, bodies, id, kind)
  } catch (thrown) {
    if (!(thrown instanceof SallyportError && thrown.code === 'row_unreadable')) throw thrown
    log.error({ execution: id, kind, err: thrown.cause }, 'a kept body does not open')
    return null
  }
}
