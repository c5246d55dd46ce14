/** What an outcome writes, and what is told of it. */
import type { ResultHead } from '@sallyport/protocol/node'
import type { Body, BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Settlement } from '../execution/execution-store.ts'
import type { CallOutcome } from './ports.ts'
import { evidenceOf, type Outcome } from './verdict.ts'

/** Only while the row names the intent that this is the outcome of. */
export function settlementOf(
  { id, intentId }: Execution,
  outcome: Outcome,
  head: ResultHead | undefined,
  now: number,
): Settlement {
  return {
    id,
    from: ['dispatching'],
    ...(intentId === null ? {} : { intentId }),
    state: outcome.state,
    code: outcome.code,
    finishedAt: now,
    ...(head?.digest === undefined ? {} : { resultDigest: head.digest }),
    ...(head?.bytes === undefined ? {} : { resultBytes: head.bytes }),
    ...(head?.tookMs === undefined ? {} : { tookMs: head.tookMs }),
    ...(head ? { notes: evidenceOf(head) } : {}),
  }
}

/** What is kept of a result: what a later answer could be made of. */
export function resultBody(
  row: Execution,
  outcome: Outcome,
  raw: Buffer | undefined,
  { bodies, now }: { bodies: BodySealer; now: number },
): Body | undefined {
  const isAnswer = outcome.code === null || outcome.code === 'upstream_error'
  if (row.retainMs === null || raw === undefined || !isAnswer) return undefined
  const sealed = bodies.seal(row.id, 'result', raw)
  return { executionId: row.id, kind: 'result', sealed, dueAt: now + row.retainMs }
}

export function toOutcome(
  { id }: Execution,
  outcome: Outcome,
  head: ResultHead | undefined,
  raw: Buffer | undefined,
): Exclude<CallOutcome, { kind: 'waiting' }> {
  if (outcome.code !== null) {
    const isRpcError = outcome.code === 'upstream_error' && raw !== undefined
    return {
      kind: 'failure',
      executionId: id,
      code: outcome.code,
      ...(isRpcError ? { rpcError: raw } : {}),
    }
  }
  if (raw === undefined || head?.withheld)
    return { kind: 'failure', executionId: id, code: 'outcome_not_kept' }
  return { kind: 'result', executionId: id, result: raw, isError: outcome.state === 'tool_error' }
}
