/** A message gets its era, and its method is served. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toSallyportError } from '@sallyport/protocol'
import type { Admitted } from './admit.ts'
import { answerEmpty, answerError, type Refusal, refusalOf } from './answer.ts'
import type { Malformed, Message } from './envelope.ts'
import { type Era, eraOf } from './era.ts'
import { checkModern } from './header-agreement.ts'
import { checkMcpSession, mcpSessionOf } from './legacy-session.ts'
import { dispatch, type MethodDeps } from './methods.ts'
import { shimOf } from './shim.ts'
import type { Timing } from './timing.ts'

export interface ReceiveDeps extends MethodDeps {
  readonly timing: Timing
  readonly release: string
}

export async function receive(
  req: IncomingMessage,
  res: ServerResponse,
  admitted: Admitted,
  message: Message | Malformed,
  deps: ReceiveDeps,
): Promise<void> {
  const { id } = message
  const refuse = (refusal: Refusal): void => answerError(res, id, refusal, deps.timing)
  if ('malformed' in message) {
    refuse({ status: 400, code: message.code, message: message.malformed })
  } else if (id === undefined) {
    const problem = notified(req, admitted, message, deps)
    if (problem) refuse(problem)
    else answerEmpty(res, 202)
  } else {
    const era = settleEra(req, admitted, message, deps)
    if (typeof era === 'object') return refuse(era)
    try {
      await serve(era, { req, res, admitted, message, id }, deps)
    } catch (thrown) {
      deps.report(thrown, 'guest request')
      refuse(refusalOf(toSallyportError(thrown).code))
    }
  }
}

interface Request {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly admitted: Admitted
  readonly message: Message
  readonly id: string
}

function serve(
  era: Era,
  { req, res, admitted, message, id }: Request,
  deps: ReceiveDeps,
): Promise<void> | void {
  const { session, traffic, connection } = admitted
  const cancelScope = cancelScopeOf(req, era)
  const { timing, release } = deps
  const asked = { req, res, session, traffic, connection, era, cancelScope, message, id }
  return dispatch({ ...asked, timing, release }, deps)
}

/**
 * In 2026-07-28 only the closing of its stream cancels a request, so its id is told apart nowhere; but behind a shim a
 * harness speaks over stdio, where it cancels by name in every era.
 */
function cancelScopeOf(req: IncomingMessage, era: Era): string | null {
  const shim = shimOf(req)
  if (shim !== undefined) return shim
  return era === 'modern' ? null : (mcpSessionOf(req) ?? '')
}

function settleEra(
  req: IncomingMessage,
  admitted: Admitted,
  message: Message,
  { ids }: ReceiveDeps,
): Era | Refusal {
  const era = eraOf(req.headers, message)
  if (era === 'modern') return checkModern(req.headers, message) ?? era
  if (era === 'legacy' && message.method !== 'initialize')
    return checkMcpSession(req, admitted, ids) ?? era
  return era
}

/** Nothing a guest notifies of needs an answer. What it may do is take back a call of a legacy era. */
function notified(
  req: IncomingMessage,
  admitted: Admitted,
  message: Message,
  { ids }: ReceiveDeps,
): Refusal | undefined {
  const problem = checkMcpSession(req, admitted, ids)
  if (problem) return problem
  const requestId = message.params.get('requestId')
  if (message.method !== 'notifications/cancelled' || requestId === undefined) return undefined
  const scope = cancelScopeOf(req, eraOf(req.headers, message) === 'legacy' ? 'legacy' : 'modern')
  if (scope !== null) admitted.traffic.cancels.cancel(scope, requestId)
  return undefined
}
