import type { Execution, Reads } from '@sallyport/core'
import type { Answer, UserId } from '@sallyport/protocol'
import { viewTime, viewTimeOrNull } from './view-time.ts'

type View = Answer<'execution.list'>['items'][number]
type Names = ReadonlyMap<UserId, string>

export async function viewExecutions(
  reads: Reads,
  executions: readonly Execution[],
): Promise<View[]> {
  const resolvers = executions.flatMap(({ resolution }) => resolution?.by ?? [])
  const names = await userNames(reads, resolvers)
  return executions.map((execution) => viewExecution(execution, names))
}

/** Whoever has no row any more is not in it. */
export async function userNames(reads: Reads, ids: readonly UserId[]): Promise<Names> {
  const users = await Promise.all([...new Set(ids)].map((id) => reads.users.get(id)))
  return new Map(users.flatMap((user) => (user ? [[user.id, user.name] as const] : [])))
}

function viewExecution(execution: Execution, names: Names): View {
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
    approvalId: execution.approvalId,
    intentId: execution.intentId,
    resultDigest: execution.resultDigest,
    resultBytes: execution.resultBytes,
    arrivedAt: viewTime(execution.arrivedAt),
    barrierAt: viewTimeOrNull(execution.barrierAt),
    notAfter: viewTimeOrNull(execution.notAfter),
    finishedAt: viewTimeOrNull(execution.finishedAt),
    tookMs: execution.tookMs,
    caller: execution.caller,
    collectedAt: viewTimeOrNull(execution.collectedAt),
    resolution: viewResolution(execution, names),
    notes: execution.notes as View['notes'],
  }
}

function viewResolution({ resolution }: Execution, names: Names): View['resolution'] {
  if (resolution === null) return null
  const { outcome, by, note, at, allowRetry } = resolution
  return { outcome, by: names.get(by) ?? by, note, at: viewTime(at), allowRetry }
}
