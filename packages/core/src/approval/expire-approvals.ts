import type { ApprovalId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { cancelWaiting } from './cancel-waiting.ts'

const atOnce = 100
const roundsAtMost = 100

/**
 * Refuses what nobody decided, or nobody used, in time. `now` only says where to look: under the lock the database's
 * clock decides. How many expired. Run often; costs one read when nothing is due.
 */
export async function expireApprovals(
  deps: Pick<Deps, 'store' | 'journal'>,
  now: number,
): Promise<number> {
  let expired = 0
  for (let round = 0; round < roundsAtMost; round++) {
    const due = await deps.store.approvals.overdue(now, atOnce)
    const moved =
      due.length > 0
        ? await expire(
            deps,
            due.map(({ id }) => id),
          )
        : 0
    expired += moved
    if (due.length < atOnce || moved === 0) break
  }
  return expired
}

function expire({ journal }: Pick<Deps, 'journal'>, ids: readonly ApprovalId[]): Promise<number> {
  return journal.transact(async (tx, page) => {
    const now = await tx.now()
    const approvals = [...(await tx.approvals.lock(ids)).values()]
    const over = approvals.filter(
      ({ state, expiresAt }) => (state === 'pending' || state === 'approved') && expiresAt <= now,
    )
    const rows = await tx.executions.lock(over.map(({ executionId }) => executionId))
    return (await cancelWaiting(tx, page, [...rows.values()], { code: 'approval_expired' })).length
  })
}
