import type {
  JournalCheckpoint,
  JournalKey,
  JournalPage,
  JournalReads,
  JournalStream,
  JournalWrites,
  KeptPage,
} from '@sallyport/core'
import type { InstanceId, StreamId } from '@sallyport/protocol'
import type { JournalHead } from '@sallyport/protocol/node'
import { journalCheckpoints, journalKeys, journalPages, journalStreams } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const pages = select(
  journalPages,
  'WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3',
)
const lastPosition = 'SELECT position FROM journal_pages ORDER BY position DESC LIMIT 1'
const checkpoints = select(
  journalCheckpoints,
  'WHERE sequence > $1 AND sequence <= $2 ORDER BY sequence LIMIT $3',
)
const newest = select(journalCheckpoints, 'ORDER BY sequence DESC LIMIT 1')
const newestAt = select(
  journalCheckpoints,
  'WHERE at <= $1 ORDER BY at DESC, sequence DESC LIMIT 1',
)
const keys = select(journalKeys, 'ORDER BY at, kid')

const begin = insert(journalStreams)
/** Without its position, which the database gives. */
const append =
  'INSERT INTO journal_pages (stream, first, last, hash, text) VALUES ($1, $2, $3, $4, $5)'
const addCheckpoint = insert(journalCheckpoints)
const addKey = insert(journalKeys, 'ON CONFLICT (kid) DO NOTHING')
const cover = 'UPDATE journal_streams SET covered = $2 WHERE id = $1 AND covered < $2'
const end = 'UPDATE journal_streams SET ended_at = $2 WHERE id = ANY($1) AND ended_at IS NULL'
const orphans = `SELECT id FROM journal_streams
  WHERE ended_at IS NULL AND instance <> $2 AND NOT EXISTS (
    SELECT 1 FROM instances WHERE instances.id = instance AND lease_until > $1)
  ORDER BY id`
const uncovered = `SELECT last, hash FROM (
    SELECT stream, last, hash FROM journal_pages WHERE stream = $1 ORDER BY first DESC LIMIT 1
  ) AS newest JOIN journal_streams ON id = stream WHERE last > covered`

export class SqlJournalReads implements JournalReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  pages(after: number, until: number, limit: number): Promise<KeptPage[]> {
    return readAll(this.#db, journalPages, pages, [after, until, limit])
  }

  async lastPosition(): Promise<number> {
    const [row] = await this.#db.rows(lastPosition, [])
    return (row?.[0] ?? 0) as number
  }

  checkpoints(after: number, until: number, limit: number): Promise<JournalCheckpoint[]> {
    return readAll(this.#db, journalCheckpoints, checkpoints, [after, until, limit])
  }

  newestCheckpoint(at?: number): Promise<JournalCheckpoint | undefined> {
    return at === undefined
      ? readOne(this.#db, journalCheckpoints, newest, [])
      : readOne(this.#db, journalCheckpoints, newestAt, [at])
  }

  keys(): Promise<JournalKey[]> {
    return readAll(this.#db, journalKeys, keys, [])
  }
}

export class SqlJournalWrites extends SqlJournalReads implements JournalWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async begin(stream: JournalStream): Promise<void> {
    await this.#tx.run(begin, journalStreams.keep(stream))
  }

  async append({ stream, first, last, hash, text }: JournalPage): Promise<void> {
    await this.#tx.run(append, [stream, first, last, hash, text])
  }

  holdPages(): Promise<void> {
    return this.#tx.holdTable(journalPages.name)
  }

  holdChain(): Promise<void> {
    return this.#tx.holdKey('journal checkpoints')
  }

  async addCheckpoint(checkpoint: JournalCheckpoint): Promise<void> {
    await this.#tx.run(addCheckpoint, journalCheckpoints.keep(checkpoint))
  }

  async cover(heads: readonly JournalHead[]): Promise<void> {
    for (const { stream, sequence } of heads) await this.#tx.run(cover, [stream, sequence])
  }

  async orphans(now: number, except: InstanceId): Promise<StreamId[]> {
    return (await this.#tx.rows(orphans, [now, except])).map(([id]) => id as StreamId)
  }

  async uncovered(streams: readonly StreamId[]) {
    const heads: (JournalHead & { stream: StreamId })[] = []
    for (const stream of streams)
      for (const [sequence, hash] of await this.#tx.rows(uncovered, [stream]))
        heads.push({ stream, sequence: sequence as number, hash: hash as string })
    return heads
  }

  async endStreams(streams: readonly StreamId[], at: number): Promise<void> {
    if (streams.length > 0) await this.#tx.run(end, [streams, at])
  }

  async addKey(key: JournalKey): Promise<void> {
    await this.#tx.run(addKey, journalKeys.keep(key))
  }
}
