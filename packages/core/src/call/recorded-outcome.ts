import type { ExecutionId } from '@sallyport/protocol'
import type { BodySealer } from '../body/body.ts'
import type { Execution } from '../execution/execution.ts'
import type { Store } from '../store.ts'
import { aboutOf, storedOutcome } from './stored-outcome.ts'

type Outcome = NonNullable<Awaited<ReturnType<typeof storedOutcome>>>

export type Recorded =
  | { readonly row: Execution; readonly outcome: Outcome }
  /** This one answers it, and has no outcome yet. */
  | { readonly by: Execution }

export interface RecordedDeps {
  readonly store: Pick<Store, 'executions' | 'bodies'>
  readonly bodies: BodySealer
  readonly report: (error: unknown, where: string) => void
}

/** What there is of an execution that somebody waits for; undefined while there is nothing, or it cannot be read. */
export async function recordedOutcome(
  id: ExecutionId,
  deps: RecordedDeps,
): Promise<Recorded | undefined> {
  try {
    return await recorded(id, deps)
  } catch (thrown) {
    deps.report(thrown, 'held call')
    return undefined
  }
}

async function recorded(
  id: ExecutionId,
  { store, bodies }: RecordedDeps,
): Promise<Recorded | undefined> {
  const row = await store.executions.get(id)
  const outcome = row && (await storedOutcome(row, store, bodies))
  if (!row || !outcome) return undefined
  const by = row.code === 'answered_by_earlier' ? aboutOf(row) : undefined
  const answer = by && (await store.executions.get(by))
  if (!answer) return { row, outcome }
  const given = await storedOutcome(answer, store, bodies)
  if (!given) return { by: answer }
  // Nobody knows it, or a person had to say it: then it was not given instead.
  const isOpen = answer.state === 'unknown' || answer.state === 'resolved'
  return isOpen ? { row: answer, outcome: given } : { row, outcome }
}
