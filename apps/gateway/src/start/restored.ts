import type { Store } from '@sallyport/core'
import type { Log } from '../worker/log.ts'

const atOnce = 100_000

/** The database is a restored backup: its sessions belong to sandboxes of another time, and none of them may call. */
export async function endRestoredSessions(store: Store, log: Log): Promise<void> {
  const ended = await store.transact(async (tx) => {
    let count = 0
    for (const state of ['created', 'verifying', 'open', 'closing'] as const) {
      const sessions = await tx.sessions.list({ state, limit: atOnce })
      const ids = sessions.map(({ id }) => id).sort()
      await tx.lockForChange({ sessions: ids })
      for (const id of ids) {
        const set = { endedAt: await tx.now(), endReason: 'restored' }
        if (await tx.sessions.move(id, [state], 'ended', set)) count++
      }
    }
    return count
  })
  log.warn({ ended }, 'started from a restored backup: every session was ended')
}
