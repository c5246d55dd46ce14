import type {
  DenySetState,
  DenySource,
  DenyWrites,
  Session,
  SessionDenial,
  StoredDenySet,
} from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

interface Rows {
  readonly denySets: MemoryRows<StoredDenySet>
  readonly denySources: MemoryRows<DenySource>
  readonly sessionDenials: MemoryRows<SessionDenial>
  readonly sessions: MemoryRows<Session>
}

export class MemoryDenials implements DenyWrites {
  readonly #rows: Rows

  constructor(rows: Rows) {
    this.#rows = rows
  }

  async newest(): Promise<StoredDenySet | undefined> {
    return this.#sets().at(-1)
  }

  async published(): Promise<StoredDenySet | undefined> {
    return this.#sets().findLast(({ state }) => state === 'published')
  }

  async since(revision: number): Promise<StoredDenySet[]> {
    return this.#sets().filter((set) => set.revision >= revision)
  }

  async sources(): Promise<DenySource[]> {
    return sorted(this.#rows.denySources.all(), ({ source }) => source)
  }

  async ofSession(id: SessionId): Promise<SessionDenial | undefined> {
    return this.#rows.sessionDenials.get(id)
  }

  async unconfirmed(revision: number): Promise<SessionDenial[]> {
    const { sessionDenials, sessions } = this.#rows
    const found = sessionDenials.all().filter(({ sessionId, keeper, confirmed }) => {
      const isOpen = sessions.get(sessionId)?.state === 'open'
      return isOpen && keeper !== 'nobody' && (confirmed === null || confirmed < revision)
    })
    return sorted(found, ({ sessionId }) => sessionId)
  }

  async insertSet(set: StoredDenySet): Promise<boolean> {
    if (this.#rows.denySets.get(String(set.revision))) return false
    this.#rows.denySets.put(set)
    return true
  }

  async moveSet(
    revision: number,
    from: DenySetState,
    to: DenySetState,
    publishedAt: number | null,
  ): Promise<boolean> {
    const set = this.#rows.denySets.get(String(revision))
    if (set?.state !== from) return false
    this.#rows.denySets.put({ ...set, state: to, publishedAt })
    return true
  }

  async dropSets(below: number): Promise<void> {
    const living = this.#rows.sessionDenials.all().filter(({ sessionId }) => {
      const session = this.#rows.sessions.get(sessionId)
      return session !== undefined && session.state !== 'ended'
    })
    for (const { revision, state } of this.#sets()) {
      const isOver = state === 'superseded' || state === 'withdrawn'
      const isNeeded = living.some(({ since }) => since <= revision)
      if (revision < below && isOver && !isNeeded) this.#rows.denySets.drop(String(revision))
    }
  }

  async putSource(source: DenySource): Promise<void> {
    this.#rows.denySources.put(source)
  }

  async dropSource(source: string): Promise<void> {
    this.#rows.denySources.drop(source)
  }

  async insertDenial(denial: SessionDenial): Promise<void> {
    putNew(this.#rows.sessionDenials, denial.sessionId, denial)
  }

  async confirm(denial: SessionDenial): Promise<boolean> {
    const now = this.#rows.sessionDenials.get(denial.sessionId)
    const isLater = now !== undefined && (now.confirmed ?? 0) <= (denial.confirmed ?? 0)
    if (isLater) this.#rows.sessionDenials.put({ ...denial, since: now.since })
    return isLater
  }

  /** One transaction at a time. */
  async hold(): Promise<void> {}

  #sets(): StoredDenySet[] {
    return this.#rows.denySets.all().toSorted((one, other) => one.revision - other.revision)
  }
}
