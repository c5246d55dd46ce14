import { createService, removeService, type Service } from '@sallyport/core'
import {
  type Answer,
  type ErrorCode,
  errors,
  type OAuthClientId,
  toSallyportError,
} from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime } from './view-time.ts'

export function serviceHandlers(deps: ApiDeps): HandlersOf<'service'> {
  const { store, worker, destinations, log } = deps
  return {
    'service.list': async () => {
      // Without a worker nothing can be sealed, so nothing can be set up.
      if (worker.info().state === 'down') return nothingOffered('worker_down')
      try {
        return { items: (await store.services.list()).map(viewService), problem: null }
      } catch (thrown) {
        const { code, cause } = toSallyportError(thrown)
        log.error({ code, cause: String(cause) }, 'services cannot be read')
        return nothingOffered(code)
      }
    },
    'service.create': async ({ actor, body }) => {
      const { client } = body
      const given = client && { ...client, id: client.id as OAuthClientId }
      const service = { ...body, client: given }
      return viewService(await createService(deps, actor, service, destinations))
    },
    'service.remove': async ({ actor, params }) =>
      viewService(await removeService(deps, actor, params.name)),
  }
}

function nothingOffered(code: ErrorCode): Answer<'service.list'> {
  return { items: [], problem: { code, text: errors[code].text } }
}

function viewService(service: Service): Answer<'service.create'> {
  const { id, name, resource, method, scopeWanted, clientId, createdAt } = service
  return {
    ...{ id, state: 'offered', name, resource, method },
    scopeWanted: [...scopeWanted],
    hasClient: clientId !== null,
    createdAt: viewTime(createdAt),
  }
}
