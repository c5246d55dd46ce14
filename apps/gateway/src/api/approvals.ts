import {
  type Actor,
  approvalContext,
  type Decision,
  decideApproval,
  findApproval,
  listApprovals,
  type SeenApproval,
} from '@sallyport/core'
import { type Answer, isId, SallyportError } from '@sallyport/protocol'
import type { ApiDeps } from './api-deps.ts'
import type { HandlersOf } from './handlers.ts'
import { viewApprovals, viewContext } from './view-approval.ts'

export function approvalHandlers(deps: ApiDeps): HandlersOf<'approval'> {
  const { store, bodies, now } = deps
  const view = async (actor: Actor, one: SeenApproval): Promise<Answer<'approval.approve'>> => {
    const [seen] = await viewApprovals(store, actor, [one], now())
    if (!seen) throw new SallyportError('internal')
    return seen
  }
  const decide = async (
    actor: Actor,
    id: string,
    decision: Decision['decision'],
    note?: string,
  ) => {
    await decideApproval(deps, actor, id, { decision, note })
    return view(actor, await findApproval(store, actor, id))
  }
  return {
    'approval.list': async ({ actor, query: { state, session, limit } }) => {
      if (session !== undefined && !isId('session', session))
        throw new SallyportError('bad_request', { field: 'session' })
      const seen = await listApprovals(store, actor, { state, sessionId: session, limit })
      return { items: await viewApprovals(store, actor, seen, now()) }
    },
    'approval.show': async ({ actor, params }) => {
      const seen = await findApproval(store, actor, params.id)
      const context = await approvalContext(store, bodies, seen, now())
      return { ...(await view(actor, seen)), ...(await viewContext(store, context)) }
    },
    'approval.approve': ({ actor, params, body }) => decide(actor, params.id, 'approve', body.note),
    'approval.deny': ({ actor, params, body }) => decide(actor, params.id, 'deny', body.note),
  }
}
