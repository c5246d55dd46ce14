import { type Execution, exportJournal } from '@sallyport/core'
import { type Answer, isId } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'

export function auditHandlers(
  deps: Pick<ApiDeps, 'store' | 'checkpoints' | 'now'>,
): HandlersOf<'audit'> {
  return {
    'audit.export': ({ query: { since, next, resume } }) =>
      exportJournal(deps, {
        ...(since === undefined ? {} : { since: Date.parse(since) }),
        ...(next === undefined ? {} : { next }),
        ...(resume === undefined ? {} : { resume }),
      }),
    'audit.executions': async ({ body }) => {
      const ids = body.ids.filter((id) => isId('execution', id))
      return { items: (await deps.store.executions.getMany(ids)).map(viewAudited) }
    },
  }
}

function viewAudited(row: Execution): Answer<'audit.executions'>['items'][number] {
  const { id, state, sequence, sessionId, ownerId, callId, connectionId, connectionName } = row
  const { tool, mode, bindingHash, argumentsDigest, approvalId, intentId, intentDigest } = row
  const { gatewayInstance, code, resultDigest, resultBytes } = row
  return {
    ...{ id, state, sequence, sessionId, ownerId, callId, connectionId, connectionName },
    ...{ tool, mode, bindingHash, argumentsDigest, approvalId, intentId, intentDigest },
    ...{ gatewayInstance, code, resultDigest, resultBytes },
  }
}
