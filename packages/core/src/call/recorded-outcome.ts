import type { ExecutionId } from '@sallyport/protocol'
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Store } from '../store.ts'
import { aboutOf, storedOutcome } from './stored-outcome.ts'

type Outcome = NonNullable<Awaited<ReturnType<typeof storedOutcome>>>

/** The outcome of an execution that somebody waits for; undefined while there is none, nor one of what answers it. */
export async function recordedOutcome(
  id: ExecutionId,
  store: Pick<Store, 'executions' | 'bodies'>,
  bodies: BodySealer,
): Promise<{ readonly row: Execution; readonly outcome: Outcome } | undefined> {
  const row = await store.executions.get(id)
  const outcome = row && (await storedOutcome(row, store, bodies))
  if (!row || !outcome) return undefined
  const by = row.code === 'answered_by_earlier' ? aboutOf(row) : undefined
  const answer = by && (await store.executions.get(by))
  const isLater = answer !== undefined && !(await storedOutcome(answer, store, bodies))
  return isLater ? undefined : { row, outcome }
}
