import { type ExecutionId, finalStates, SallyportError } from '@sallyport/protocol'
import type { Execution, ExecutionState } from '../execution/execution.ts'
import type { Reads, Store } from '../store.ts'
import type { Body } from './body.ts'

const dayMs = 86_400_000
const atOnce = 200
const roundsAtMost = 500

const isFinal = (state: ExecutionState): boolean =>
  (finalStates as readonly ExecutionState[]).includes(state)

interface Due {
  readonly body: Body
  /** Undefined: it is deleted. */
  readonly postponedTo: number | undefined
}

/**
 * Deletes the bodies whose time is over and whose execution is final; those of others are looked at again in a day. How
 * many were deleted. Throws `row_unreadable` at the first row, of a body or its execution, that cannot be read: then
 * nothing of its group and nothing after it is deleted.
 */
export async function sweepBodies(store: Store): Promise<number> {
  let deleted = 0
  for (let round = 0; round < roundsAtMost; round++) {
    const [due, over] = await store.transact(async (tx) => {
      const bodies = await dueBodies(tx, await tx.now())
      for (const { body, postponedTo } of bodies)
        if (postponedTo !== undefined) await tx.bodies.postpone([body], postponedTo)
      const over = bodies.filter(({ postponedTo }) => postponedTo === undefined)
      await tx.bodies.delete(over.map(({ body }) => body))
      return [bodies.length, over.length] as const
    })
    deleted += over
    if (due < atOnce) break
  }
  return deleted
}

/** The next ones that a sweep would look at, for the sweep and for whoever checks that it can. */
export async function dueBodies(reads: Reads, now: number): Promise<Due[]> {
  const bodies = await reads.bodies.due(now, atOnce)
  const ids = [...new Set(bodies.map(({ executionId }) => executionId))]
  const rows = new Map((await reads.executions.getMany(ids)).map((row) => [row.id, row]))
  return bodies.map((body) => ({ body, postponedTo: postponed(rows, body.executionId, now) }))
}

function postponed(
  rows: ReadonlyMap<ExecutionId, Execution>,
  id: ExecutionId,
  now: number,
): number | undefined {
  const row = rows.get(id)
  if (!row) throw new SallyportError('row_unreadable', { cause: new Error(`no execution ${id}`) })
  if (!isFinal(row.state)) return now + dayMs
  // Kept from the end of the call on, however long a person took to decide.
  const end = (row.finishedAt ?? now) + (row.retainMs ?? 0)
  return end > now ? end : undefined
}
