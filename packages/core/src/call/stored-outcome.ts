/** What is told of an execution from its row, when the answer is not at hand any more. */
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Reads } from '../store.ts'
import { resolvedCode } from './decide-arrival.ts'
import type { CallOutcome } from './ports.ts'

/** Undefined while nothing can be told: it is not settled. */
export async function storedOutcome(
  row: Execution,
  reads: Pick<Reads, 'bodies'>,
  sealer: BodySealer,
): Promise<Exclude<CallOutcome, { kind: 'waiting' }> | undefined> {
  const executionId = row.id
  switch (row.state) {
    case 'awaiting_approval':
    case 'approved':
    case 'awaiting_answer':
    case 'dispatching':
      return undefined
    case 'resolved':
      return { kind: 'failure', executionId, code: resolvedCode(row) }
    case 'succeeded':
    case 'tool_error': {
      const isOurs = row.code !== null && row.code !== 'upstream_error'
      const body = isOurs ? undefined : await reads.bodies.get(row.id, 'result')
      if (!body) return { kind: 'failure', executionId, code: row.code ?? 'outcome_not_kept' }
      const raw = sealer.open(row.id, 'result', body.sealed)
      return row.code === null
        ? { kind: 'result', executionId, result: raw, isError: row.state === 'tool_error' }
        : { kind: 'failure', executionId, code: row.code, rpcError: raw }
    }
    default:
      return {
        kind: 'failure',
        executionId: aboutOf(row) ?? executionId,
        code: row.code ?? 'outcome_not_kept',
      }
  }
}

/** The execution that a refusal is about, where it is not its own. */
export function aboutOf({ notes }: Execution): Execution['id'] | undefined {
  const { about } = notes
  return typeof about === 'string' ? (about as Execution['id']) : undefined
}
