import type {
  DenyReads,
  DenySetState,
  DenySource,
  DenyWrites,
  SessionDenial,
  StoredDenySet,
} from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { denySets, denySources, sessionDenials } from '../rows/deny-tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const newest = select(denySets, 'ORDER BY revision DESC LIMIT 1')
const published = select(denySets, "WHERE state = 'published' ORDER BY revision DESC LIMIT 1")
const since = select(denySets, 'WHERE revision >= $1 ORDER BY revision')
const sources = select(denySources, 'ORDER BY source')
const ofSession = select(sessionDenials, 'WHERE session_id = $1')
const unconfirmed = select(
  sessionDenials,
  `WHERE keeper <> 'nobody' AND (confirmed IS NULL OR confirmed < $1)
    AND session_id IN (SELECT id FROM sessions WHERE state = 'open') ORDER BY session_id`,
)
const insertSet = insert(denySets, 'ON CONFLICT DO NOTHING')
const moveSet =
  'UPDATE deny_sets SET state = $3, published_at = $4 WHERE revision = $1 AND state = $2'
const dropSets = `DELETE FROM deny_sets WHERE revision < $1 AND state IN ('superseded', 'withdrawn')
  AND NOT EXISTS (SELECT 1 FROM session_denials JOIN sessions ON sessions.id = session_id
    WHERE sessions.state <> 'ended' AND since <= deny_sets.revision)`
const putSource = insert(
  denySources,
  'ON CONFLICT (source) DO UPDATE SET entries = excluded.entries, at = excluded.at',
)
const insertDenial = insert(sessionDenials)
const confirm = `UPDATE session_denials SET keeper = $2, confirmed = $3, confirmed_at = $4
  WHERE session_id = $1 AND (confirmed IS NULL OR confirmed <= $3)`

export class SqlDenyReads implements DenyReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  newest(): Promise<StoredDenySet | undefined> {
    return readOne(this.#db, denySets, newest, [])
  }

  published(): Promise<StoredDenySet | undefined> {
    return readOne(this.#db, denySets, published, [])
  }

  since(revision: number): Promise<StoredDenySet[]> {
    return readAll(this.#db, denySets, since, [revision])
  }

  sources(): Promise<DenySource[]> {
    return readAll(this.#db, denySources, sources, [])
  }

  ofSession(id: SessionId): Promise<SessionDenial | undefined> {
    return readOne(this.#db, sessionDenials, ofSession, [id])
  }

  unconfirmed(revision: number): Promise<SessionDenial[]> {
    return readAll(this.#db, sessionDenials, unconfirmed, [revision])
  }
}

export class SqlDenyWrites extends SqlDenyReads implements DenyWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insertSet(set: StoredDenySet): Promise<boolean> {
    return (await this.#tx.run(insertSet, denySets.keep(set))) === 1
  }

  async moveSet(
    revision: number,
    from: DenySetState,
    to: DenySetState,
    publishedAt: number | null,
  ): Promise<boolean> {
    return (await this.#tx.run(moveSet, [revision, from, to, publishedAt])) === 1
  }

  async dropSets(below: number): Promise<void> {
    await this.#tx.run(dropSets, [below])
  }

  async putSource(source: DenySource): Promise<void> {
    await this.#tx.run(putSource, denySources.keep(source))
  }

  async dropSource(source: string): Promise<void> {
    await this.#tx.run('DELETE FROM deny_sources WHERE source = $1', [source])
  }

  async insertDenial(denial: SessionDenial): Promise<void> {
    await this.#tx.run(insertDenial, sessionDenials.keep(denial))
  }

  async confirm({ sessionId, keeper, confirmed, confirmedAt }: SessionDenial): Promise<boolean> {
    return (await this.#tx.run(confirm, [sessionId, keeper, confirmed, confirmedAt])) === 1
  }

  async hold(): Promise<void> {
    await this.#tx.holdKey('deny set')
  }
}
