/** What the worker's verdict makes of an execution. */
import type { ErrorCode } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Access } from '../catalog/catalog.ts'
import type { ExecutionState } from '../execution/execution.ts'

export interface Outcome {
  readonly state: Extract<
    ExecutionState,
    'succeeded' | 'tool_error' | 'not_sent' | 'lost' | 'unknown'
  >
  readonly code: ErrorCode | null
}

/** Codes of a known answer after which the effect is done although its body is not passed on. */
const done: ReadonlySet<ErrorCode> = new Set(['credential_in_result', 'result_too_large'])

export function outcomeOf(head: ResultHead, access: Access): Outcome {
  switch (head.verdict) {
    case 'not_sent':
      return { state: 'not_sent', code: head.code ?? 'not_sent' }
    case 'uncertain':
      return uncertain(access)
    case 'result': {
      const code = head.code ?? (head.rpcError ? 'upstream_error' : null)
      const failed = head.isError === true || (code !== null && !done.has(code))
      return { state: failed ? 'tool_error' : 'succeeded', code }
    }
    default:
      return uncertain(access)
  }
}

/** Nobody can say what became of it: a read may be asked again, a write is unknown until a person says. */
export function uncertain(access: Access): Outcome {
  return access === 'read'
    ? { state: 'lost', code: 'outcome_lost' }
    : { state: 'unknown', code: 'outcome_unknown' }
}

/** What the journal keeps of an answer beside its state. */
export function evidenceOf(head: ResultHead): Readonly<Record<string, unknown>> {
  return {
    ...(head.status === undefined ? {} : { status: head.status }),
    ...(head.serverRequests ? { serverRequests: head.serverRequests } : {}),
    ...(head.violations ? { violations: head.violations } : {}),
    ...(head.withheld ? { withheld: head.withheld } : {}),
    ...(head.isCut ? { isCut: true } : {}),
    ...(head.verdict === 'uncertain' && head.code ? { because: head.code } : {}),
  }
}
