import type { SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { closeSession } from './close-sessions.ts'
import { finishSession, type InFlight } from './finish-session.ts'
import type { Session } from './session.ts'

const atOnce = 1000

/**
 * Ends what is past its age or idle time and finishes what an earlier end left `closing`. A session with open
 * executions is not idle. Run from time to time; `onFailure` hears of a session that could not be finished now.
 */
export async function endOverdueSessions(
  deps: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  now: number,
  onFailure: (id: SessionId, error: unknown) => void,
): Promise<SessionId[]> {
  const { store } = deps
  const left = await store.sessions.list({ state: 'closing', limit: atOnce })
  const ended: SessionId[] = []
  for (const session of [...left, ...(await store.sessions.overdue(now))]) {
    try {
      if (await endOverdue(deps, inFlight, session, now)) ended.push(session.id)
    } catch (error) {
      onFailure(session.id, error)
    }
  }
  return ended
}

async function endOverdue(
  deps: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  session: Session,
  now: number,
): Promise<boolean> {
  const { store } = deps
  if (session.state !== 'closing' && !(await close(deps, session, now))) return false
  // Not waited for here: the sessions after it have their turn, and this one another.
  if ((await store.executions.unfinishedOf(session.id)).length > 0) return false
  return (await finishSession(store, inFlight, session.id))?.state === 'ended'
}

/** Looks again under the lock: a call may have come in since the list was read. */
function close({ journal }: Pick<Deps, 'journal'>, { id }: Session, now: number): Promise<boolean> {
  return journal.transact(async (tx, page) => {
    await tx.lockForChange({ sessions: [id] })
    const session = await tx.sessions.get(id)
    if (session?.state !== 'open') return false
    const expired = now >= session.expiresAt
    const recent = now < session.lastCallAt + session.idleMs
    if (!expired && (recent || (await tx.executions.unfinishedOf(id)).length > 0)) return false
    return closeSession(tx, page, id, ['open'], expired ? 'expired' : 'idle')
  })
}
