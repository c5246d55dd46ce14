import type { SandboxReads, SandboxWrites, SessionSandbox } from '@sallyport/core'
import type { SandboxEvidence, SessionId } from '@sallyport/protocol'
import { keepJson } from '../rows/json.ts'
import { sandboxes } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const bySession = select(sandboxes, 'WHERE session_id = $1')
const living = select(
  sandboxes,
  `WHERE session_id IN (SELECT id FROM sessions WHERE state IN ('created', 'verifying', 'open'))
  ORDER BY session_id`,
)
const insertNew = insert(sandboxes)
const see = 'UPDATE sandboxes SET seen_at = $2 WHERE session_id = $1 AND seen_at < $2'
const show = 'UPDATE sandboxes SET evidence = $2, proved_at = $3 WHERE session_id = $1'

export class SqlSandboxReads implements SandboxReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: SessionId): Promise<SessionSandbox | undefined> {
    return readOne(this.#db, sandboxes, bySession, [id])
  }

  living(): Promise<SessionSandbox[]> {
    return readAll(this.#db, sandboxes, living, [])
  }
}

export class SqlSandboxWrites extends SqlSandboxReads implements SandboxWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(sandbox: SessionSandbox): Promise<void> {
    await this.#tx.run(insertNew, sandboxes.keep(sandbox))
  }

  async see(id: SessionId, seenAt: number): Promise<void> {
    await this.#tx.run(see, [id, seenAt])
  }

  async show(id: SessionId, evidence: SandboxEvidence, provedAt: number | null): Promise<void> {
    await this.#tx.run(show, [id, keepJson(evidence), provedAt])
  }
}
