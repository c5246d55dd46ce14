import type { Session, SessionReads, SessionState, SessionWrites } from '@sallyport/core'
import type { SessionId, UserId } from '@sallyport/protocol'
import { keepJson } from '../rows/json.ts'
import { sessions } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { where } from './conditions.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { count, insert, readAll, readOne, select } from './statements.ts'

const byId = select(sessions, 'WHERE id = $1')
const byTokenHash = select(sessions, 'WHERE token_hash = $1')
const overdue = select(
  sessions,
  "WHERE state = 'open' AND (expires_at <= $1 OR last_call_at + idle_ms <= $1) ORDER BY id",
)
const insertNew = insert(sessions)
const moveState = `UPDATE sessions SET state = $3,
    opened_at = COALESCE($4, opened_at), ended_at = COALESCE($5, ended_at),
    end_reason = COALESCE($6, end_reason), evidence = COALESCE($7, evidence)
  WHERE id = $1 AND state = ANY($2)`

export class SqlSessionReads implements SessionReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: SessionId): Promise<Session | undefined> {
    return readOne(this.#db, sessions, byId, [id])
  }

  byTokenHash(hash: string): Promise<Session | undefined> {
    return readOne(this.#db, sessions, byTokenHash, [hash])
  }

  list(filter: { ownerId?: UserId; state?: SessionState; limit: number }): Promise<Session[]> {
    const { text, params } = where({ owner_id: filter.ownerId, state: filter.state })
    const sql = select(sessions, `${text} ORDER BY id DESC LIMIT $${params.length + 1}`)
    return readAll(this.#db, sessions, sql, [...params, filter.limit])
  }

  count(state: SessionState): Promise<number> {
    return count(this.#db, 'SELECT count(*) FROM sessions WHERE state = $1', [state])
  }

  overdue(now: number): Promise<Session[]> {
    return readAll(this.#db, sessions, overdue, [now])
  }
}

export class SqlSessionWrites extends SqlSessionReads implements SessionWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(session: Session): Promise<void> {
    await this.#tx.run(insertNew, sessions.keep(session))
  }

  async move(
    id: SessionId,
    from: readonly SessionState[],
    to: SessionState,
    set: { openedAt?: number; endedAt?: number; endReason?: string; evidence?: unknown },
  ): Promise<boolean> {
    const written = await this.#tx.run(moveState, [
      id,
      from,
      to,
      set.openedAt ?? null,
      set.endedAt ?? null,
      set.endReason === undefined ? null : keepText(set.endReason),
      set.evidence === undefined ? null : keepJson(set.evidence),
    ])
    return written === 1
  }

  async touch(id: SessionId, lastCallAt: number): Promise<void> {
    const sql = 'UPDATE sessions SET last_call_at = $2 WHERE id = $1 AND last_call_at < $2'
    await this.#tx.run(sql, [id, lastCallAt])
  }
}
