import type { SessionId, UserId } from '@sallyport/protocol'
import type { Session, SessionState } from './session.ts'

export interface SessionReads {
  get(id: SessionId): Promise<Session | undefined>
  /** In any state. On the way of every guest request. */
  byTokenHash(hash: string): Promise<Session | undefined>
  /** Newest first. */
  list(filter: { ownerId?: UserId; state?: SessionState; limit: number }): Promise<Session[]>
  count(state: SessionState): Promise<number>
  /** Open sessions that are past their age or idle time at `now`. */
  overdue(now: number): Promise<Session[]>
}

export interface SessionWrites extends SessionReads {
  insert(session: Session): Promise<void>
  /** Compare-and-swap on the state; sets what is given. False when the state is none of `from`. */
  move(
    id: SessionId,
    from: readonly SessionState[],
    to: SessionState,
    set: { openedAt?: number; endedAt?: number; endReason?: string; evidence?: unknown },
  ): Promise<boolean>
  touch(id: SessionId, lastCallAt: number): Promise<void>
}
