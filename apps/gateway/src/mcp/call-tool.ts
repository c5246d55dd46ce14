/** `tools/call`: hands the call to the core exactly as it came, and the upstream's result back exactly as it came. */
import type { BoundTool, CallOutcome, Calls, Toolsets } from '@sallyport/core'
import { toSallyportError } from '@sallyport/protocol'
import { refusalOf } from './answer.ts'
import { CallReply } from './call-reply.ts'
import { stringOf } from './envelope.ts'
import { type Exchange, invalidParams, refuse } from './exchange.ts'
import { type Failure, failureResult } from './failure-result.ts'
import { GuestCall } from './guest-call.ts'
import { checkParams } from './header-agreement.ts'

export interface CallDeps {
  readonly toolsets: Toolsets
  readonly calls: Calls
  readonly callIds: () => string
  readonly report: (error: unknown, where: string) => void
}

const callIdLimit = 128

const takenBack: Failure = { kind: 'failure', executionId: null, code: 'call_cancelled' }

export async function callTool(exchange: Exchange, deps: CallDeps): Promise<void> {
  const { session, message, connection, era, req, traffic } = exchange
  const name = stringOf(message.params.get('name'))
  if (name === undefined) return invalidParams(exchange, 'params.name must be a string.')
  const tool = (await deps.toolsets.of(session)).find(connection, name)
  if (!tool) return invalidParams(exchange, 'Unknown tool.')
  const argumentsText = message.params.get('arguments') ?? '{}'
  const mismatch = era === 'modern' ? checkParams(req.headers, tool, argumentsText) : undefined
  if (mismatch) return refuse(exchange, mismatch)
  if (!traffic.beginCall()) return refuse(exchange, refusalOf('too_many', { 'retry-after': '1' }))
  const call = new GuestCall(exchange)
  const reply = new CallReply(exchange)
  const outcome = call.isTakenBack
    ? takenBack
    : await ask(exchange, tool, argumentsText, call.signal, reply, deps)
  call.settle()
  if (outcome.kind === 'result') reply.finish(outcome.result)
  else reply.finishOwn(failureResult(outcome, tool))
}

async function ask(
  { session, message }: Exchange,
  tool: BoundTool,
  argumentsText: string,
  signal: AbortSignal,
  { progress }: CallReply,
  { calls, callIds, report }: CallDeps,
): Promise<CallOutcome> {
  const callId = harnessCallId(message.meta.get('claudecode/toolUseId')) ?? callIds()
  const call = { session, tool, argumentsText, callId, signal }
  try {
    return await calls.call(progress ? { ...call, progress } : call)
  } catch (thrown) {
    report(thrown, 'tools/call')
    return { kind: 'failure', executionId: null, code: toSallyportError(thrown).code }
  }
}

/** Claude Code's id of the tool use: stable when the harness sends the call again. */
function harnessCallId(json: string | undefined): string | undefined {
  const id = stringOf(json)
  return id !== undefined && id.length > 0 && id.length <= callIdLimit ? id : undefined
}
