import { cancelWaiting, type Deps } from '@sallyport/core'
import type { Log } from '../worker/log.ts'

const many = 100_000
const atOnce = 500

/**
 * The database is a restored backup. What waited for a person waits no more, for nobody knows what became of it since, and
 * sessions belong to sandboxes of another time: none of them may call. What was dispatching is found out by recovery.
 */
export async function endRestored(
  deps: Pick<Deps, 'store' | 'journal'>,
  log: Pick<Log, 'warn'>,
): Promise<void> {
  const refused = await refuseWaiting(deps)
  const ended = await endSessions(deps)
  log.warn(
    { refused, ended },
    'started from a restored backup: what waited for a person was refused, every session was ended',
  )
}

async function refuseWaiting({ store, journal }: Pick<Deps, 'store' | 'journal'>): Promise<number> {
  let refused = 0
  for (;;) {
    const waiting = await store.executions.waiting(atOnce)
    const moved = await journal.transact((tx, page) =>
      cancelWaiting(tx, page, waiting, { code: 'approval_expired' }),
    )
    if (moved.length === 0) return refused
    refused += moved.length
  }
}

function endSessions({ store }: Pick<Deps, 'store'>): Promise<number> {
  return store.transact(async (tx) => {
    let count = 0
    for (const state of ['created', 'verifying', 'open', 'closing'] as const) {
      const sessions = await tx.sessions.list({ state, limit: many })
      const ids = sessions.map(({ id }) => id).sort()
      await tx.lockForChange({ sessions: ids })
      for (const id of ids) {
        const set = { endedAt: await tx.now(), endReason: 'restored' }
        if (await tx.sessions.move(id, [state], 'ended', set)) count++
      }
    }
    return count
  })
}
