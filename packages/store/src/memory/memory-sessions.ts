import type { Session, SessionState, SessionWrites } from '@sallyport/core'
import type { SessionId, UserId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { newestFirst, sorted } from './sort.ts'

export class MemorySessions implements SessionWrites {
  readonly #sessions: MemoryRows<Session>

  constructor(rows: { sessions: MemoryRows<Session> }) {
    this.#sessions = rows.sessions
  }

  async get(id: SessionId): Promise<Session | undefined> {
    return this.#sessions.get(id)
  }

  async byTokenHash(hash: string): Promise<Session | undefined> {
    return this.#sessions.all().find((session) => session.tokenHash === hash)
  }

  async list(filter: {
    ownerId?: UserId
    state?: SessionState
    limit: number
  }): Promise<Session[]> {
    const { ownerId, state, limit } = filter
    const wanted = this.#sessions
      .all()
      .filter((session) => ownerId === undefined || session.ownerId === ownerId)
      .filter((session) => state === undefined || session.state === state)
    return newestFirst(wanted).slice(0, limit)
  }

  async count(state: SessionState): Promise<number> {
    return this.#sessions.all().filter((session) => session.state === state).length
  }

  async overdue(now: number): Promise<Session[]> {
    const open = this.#sessions.all().filter(({ state }) => state === 'open')
    const overdue = open.filter(
      ({ expiresAt, lastCallAt, idleMs }) => expiresAt <= now || lastCallAt + idleMs <= now,
    )
    return sorted(overdue, ({ id }) => id)
  }

  async insert(session: Session): Promise<void> {
    if (await this.byTokenHash(session.tokenHash)) this.#sessions.collide()
    putNew(this.#sessions, session.id, session)
  }

  async move(
    id: SessionId,
    from: readonly SessionState[],
    to: SessionState,
    set: { openedAt?: number; endedAt?: number; endReason?: string; evidence?: unknown },
  ): Promise<boolean> {
    const session = this.#sessions.get(id)
    if (!session || !from.includes(session.state)) return false
    this.#sessions.put({
      ...session,
      state: to,
      openedAt: set.openedAt ?? session.openedAt,
      endedAt: set.endedAt ?? session.endedAt,
      endReason: set.endReason ?? session.endReason,
      evidence: set.evidence === undefined ? session.evidence : set.evidence,
    })
    return true
  }

  async touch(id: SessionId, lastCallAt: number): Promise<void> {
    const session = this.#sessions.get(id)
    if (session && session.lastCallAt < lastCallAt) this.#sessions.put({ ...session, lastCallAt })
  }
}
