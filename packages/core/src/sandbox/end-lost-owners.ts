import type { BornProcess, SessionId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { closeSession, living } from '../session/close-sessions.ts'
import { finishSession, type InFlight } from '../session/finish-session.ts'
import type { Session } from '../session/session.ts'
import { reconnectMs, type SessionSandbox, silenceMs, verifyMs } from './session-sandbox.ts'

export interface OwnerWatch {
  /** True only when that process cannot be running any more: its sessions end at once. */
  readonly isProvedGone: (owner: BornProcess) => boolean
  /** Since when there is a gateway to hear owners: silence before it is nobody's. */
  readonly since: number
  readonly now: number
  /** Hears of a session that could not be ended now. */
  readonly onFailure: (id: SessionId, error: unknown) => void
}

/** Ends the sessions whose owner is gone or silent, and those that were never verified. Run from second to second. */
export async function endLostOwners(
  deps: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  watch: OwnerWatch,
): Promise<SessionId[]> {
  const ended: SessionId[] = []
  for (const { sessionId } of await deps.store.sandboxes.living()) {
    try {
      if (await endIfLost(deps, inFlight, sessionId, watch)) ended.push(sessionId)
    } catch (error) {
      watch.onFailure(sessionId, error)
    }
  }
  return ended
}

async function endIfLost(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  id: SessionId,
  watch: OwnerWatch,
): Promise<boolean> {
  if ((await lossNow(store, id, watch)) === undefined) return false
  const isClosed = await journal.transact(async (tx, page) => {
    await tx.lockForChange({ sessions: [id] })
    // Under the lock: the owner may have been heard meanwhile.
    const reason = await lossNow(tx, id, watch)
    return reason !== undefined && closeSession(tx, page, id, living, reason)
  })
  if (!isClosed) return false
  await finishSession(store, inFlight, id)
  return true
}

async function lossNow(
  reads: Pick<Deps['store'], 'sessions' | 'sandboxes'>,
  id: SessionId,
  watch: OwnerWatch,
): Promise<string | undefined> {
  const [session, sandbox] = [await reads.sessions.get(id), await reads.sandboxes.get(id)]
  return session && sandbox ? lossOf(session, sandbox, watch) : undefined
}

/** Why the session has to end, or undefined. */
function lossOf(
  session: Session,
  { owner, seenAt }: SessionSandbox,
  { isProvedGone, since, now }: OwnerWatch,
): string | undefined {
  if (isProvedGone(owner)) return 'owner_lost'
  if (session.state !== 'open' && now - session.createdAt > verifyMs) return 'not_verified'
  if (now - seenAt > reconnectMs) return 'owner_lost'
  return now - Math.max(seenAt, since) > silenceMs ? 'owner_lost' : undefined
}
