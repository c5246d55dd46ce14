import type { Execution } from '@sallyport/core'
import { type Answer, isId, SallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

export function executionHandlers({ store }: ApiDeps): HandlersOf<'execution'> {
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
      return { items: executions.map(viewExecution) }
    },
    'execution.show': async ({ actor, params }) => {
      const execution = isId('execution', params.id)
        ? await store.executions.get(params.id)
        : undefined
      if (!execution || (execution.ownerId !== actor.userId && actor.role !== 'admin'))
        throw new SallyportError('not_found', { field: 'id' })
      return viewExecution(execution)
    },
  }
}

function viewExecution(execution: Execution): Answer<'execution.show'> {
  return {
    id: execution.id,
    state: execution.state,
    sessionId: execution.sessionId,
    connection: execution.connectionName,
    tool: execution.tool,
    callId: execution.callId,
    mode: execution.mode,
    access: execution.access,
    code: execution.code,
    field: execution.field,
    argumentsDigest: execution.argumentsDigest,
    bindingHash: execution.bindingHash,
    intentId: execution.intentId,
    resultDigest: execution.resultDigest,
    resultBytes: execution.resultBytes,
    arrivedAt: viewTime(execution.arrivedAt),
    barrierAt: viewTimeOrNull(execution.barrierAt),
    notAfter: viewTimeOrNull(execution.notAfter),
    finishedAt: viewTimeOrNull(execution.finishedAt),
    tookMs: execution.tookMs,
    notes: execution.notes as Answer<'execution.show'>['notes'],
  }
}
