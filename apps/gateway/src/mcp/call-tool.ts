/** `tools/call`: hands the call to the core exactly as it came, and the upstream's result back exactly as it came. */
import type { Caller, CallOutcome, Calls, Toolsets } from '@sallyport/core'
import { stringOf } from './envelope.ts'
import { type Exchange, invalidParams, refuse } from './exchange.ts'
import { checkParams } from './header-agreement.ts'
import { type ServeDeps, serveCall } from './serve-call.ts'
import { shimCallOf } from './shim.ts'
import { hasWaitTool, ownConnection, readWaitArguments, waitToolName } from './wait-tool.ts'

export interface CallDeps extends ServeDeps {
  readonly toolsets: Toolsets
  readonly calls: Calls
  readonly callIds: () => string
}

const callIdLimit = 128

export async function callTool(exchange: Exchange, deps: CallDeps): Promise<void> {
  const { session, message, connection, era, req } = exchange
  const name = stringOf(message.params.get('name'))
  if (name === undefined) return invalidParams(exchange, 'params.name must be a string.')
  const toolset = await deps.toolsets.of(session)
  const tool = toolset.find(connection, name)
  const argumentsText = message.params.get('arguments') ?? '{}'
  const waitTool = waitToolName(connection)
  if (!tool) {
    if (name === waitTool && hasWaitTool(toolset)) return collect(exchange, argumentsText, deps)
    return invalidParams(exchange, 'Unknown tool.')
  }
  const mismatch = era === 'modern' ? checkParams(req.headers, tool, argumentsText) : undefined
  if (mismatch) return refuse(exchange, mismatch)
  const own = harnessCallId(message.meta.get('claudecode/toolUseId')) ?? shimCallOf(req)
  const call = own === undefined ? { callId: deps.callIds(), isCallIdOurs: true } : { callId: own }
  const question = {
    outputSchema: tool.outputSchema,
    collector: waitTool ?? elsewhere,
    ask: (caller: Caller) => deps.calls.call({ ...caller, tool, argumentsText, ...call }),
  }
  return serveCall(exchange, question, deps)
}

/** On the path of another connection our own tool belongs to another server of the harness. */
const elsewhere = `${waitToolName(ownConnection)} of the server "${ownConnection}"`

/** `wait_for_result`. */
function collect(exchange: Exchange, argumentsText: string, deps: CallDeps): Promise<void> {
  const ask = async (caller: Caller): Promise<CallOutcome> => {
    const read = readWaitArguments(argumentsText)
    return 'kind' in read ? read : deps.calls.collect({ ...caller, ...read })
  }
  return serveCall(exchange, { outputSchema: null, ask }, deps)
}

/** Claude Code's id of the tool use: stable when the harness sends the call again. */
function harnessCallId(json: string | undefined): string | undefined {
  const id = stringOf(json)
  return id !== undefined && id.length > 0 && id.length <= callIdLimit ? id : undefined
}
