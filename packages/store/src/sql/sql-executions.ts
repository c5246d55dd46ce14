import type {
  Execution,
  ExecutionFilter,
  ExecutionReads,
  ExecutionState,
  ExecutionWrites,
  Settlement,
} from '@sallyport/core'
import type { ExecutionId, GrantId, InstanceId, SessionId } from '@sallyport/protocol'
import { keepJson } from '../rows/json.ts'
import {
  blocksWrites,
  mustBeMoves,
  type Outcome,
  outcomes,
  settled,
  unfinishedStates,
} from '../rows/outcome.ts'
import { executions } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { where } from './conditions.ts'
import type { SqlReader, SqlWriter, Update } from './driver.ts'
import { inLockOrder, writeKeys } from './insert-order.ts'
import { count, readAll, readOne, select } from './statements.ts'

/** Exactly the condition of the index `executions_state`, or SQLite does not use it: what is open or worth a look. */
const indexed = "state <> 'succeeded'"
const isDispatching = `${indexed} AND state = 'dispatching'`
const isUnfinished = `${indexed} AND state IN (${unfinishedStates.map((state) => `'${state}'`).join(', ')})`

const byId = select(executions, 'WHERE id = $1')
const byIds = select(executions, 'WHERE id = ANY($1) ORDER BY id')
const byCall = select(executions, 'WHERE session_id = $1 AND call_id = $2')
const leased = 'SELECT 1 FROM instances WHERE instances.id = gateway_instance AND lease_until > $1'
const abandoned = select(
  executions,
  `WHERE ${isDispatching} AND (gateway_instance = $2 OR NOT EXISTS (${leased})) ORDER BY id`,
)
const dispatchingOf = select(
  executions,
  `WHERE ${isDispatching} AND gateway_instance = $1 ORDER BY id`,
)
/** The expression keeps an engine from reading every call of a long session to find the few that are open. */
const unfinishedOf = select(
  executions,
  `WHERE ${isUnfinished} AND session_id || '' = $1 ORDER BY id`,
)
const sameCalls = `SELECT session_id, call_id, id FROM executions
  WHERE session_id = ANY($1) AND call_id = ANY($2)`
const outcomeUpdate: Update = { ...outcomes, keys: 1 }
const outcomesForChange = select(outcomes, 'WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE')
const claim = `UPDATE executions SET gateway_instance = $3, sequence = sequence + 1
  WHERE id = $1 AND gateway_instance = $2 AND state = 'dispatching'`
const countPassed = `SELECT count(*) FROM executions
  WHERE session_id = $1 AND grant_id = $2 AND barrier_at > $3`

export class SqlExecutionReads implements ExecutionReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: ExecutionId): Promise<Execution | undefined> {
    return readOne(this.#db, executions, byId, [id])
  }

  getMany(ids: readonly ExecutionId[]): Promise<Execution[]> {
    return readAll(this.#db, executions, byIds, [ids])
  }

  byCall(sessionId: SessionId, callId: string): Promise<Execution | undefined> {
    return readOne(this.#db, executions, byCall, [sessionId, keepText(callId)])
  }

  list(filter: ExecutionFilter): Promise<Execution[]> {
    const { text, params } = where({
      owner_id: filter.ownerId,
      session_id: filter.sessionId,
      state: filter.state,
    })
    const rest = `${text}${hint(filter.state)} ORDER BY id DESC LIMIT $${params.length + 1}`
    const sql = select(executions, rest)
    return readAll(this.#db, executions, sql, [...params, filter.limit])
  }

  count(state: ExecutionState): Promise<number> {
    const sql = `SELECT count(*) FROM executions WHERE state = $1${hint(state)}`
    return count(this.#db, sql, [state])
  }

  abandoned(now: number, owner?: InstanceId): Promise<Execution[]> {
    return readAll(this.#db, executions, abandoned, [now, owner ?? null])
  }

  dispatchingOf(instance: InstanceId): Promise<Execution[]> {
    return readAll(this.#db, executions, dispatchingOf, [instance])
  }

  unfinishedOf(sessionId: SessionId): Promise<Execution[]> {
    return readAll(this.#db, executions, unfinishedOf, [sessionId])
  }
}

export class SqlExecutionWrites extends SqlExecutionReads implements ExecutionWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(rows: readonly Execution[]): Promise<('inserted' | 'call' | 'write')[]> {
    const free = await this.#tx.freeWriteKeys(writeKeys(rows))
    const tried = rows.filter((row) => !blocksWrites(row) || free.has(row.writeKey as string))
    const inserted = new Set<unknown>()
    for (const part of inLockOrder(tried)) {
      const ids = await this.#tx.insertNew(executions, part.map(executions.keep))
      for (const id of ids) inserted.add(id)
    }
    if (inserted.size === rows.length) return rows.map(() => 'inserted')
    return this.#explain(rows, inserted)
  }

  /** A row is a second `call` when an earlier row has its callId; one that came after it in this group does not count. */
  async #explain(rows: readonly Execution[], inserted: ReadonlySet<unknown>) {
    const refused = rows.filter((row) => !inserted.has(row.id))
    const found = await this.#tx.rows(sameCalls, [
      refused.map((row) => row.sessionId),
      refused.map((row) => keepText(row.callId)),
    ])
    const place = new Map<unknown, number>(rows.map((row, i) => [row.id, i]))
    const owners = new Map(found.map(([session, call, id]) => [`${session} ${call}`, id]))
    return rows.map((row, i) => {
      if (inserted.has(row.id)) return 'inserted'
      const owner = owners.get(`${row.sessionId} ${keepText(row.callId)}`)
      const later = inserted.has(owner) && (place.get(owner) ?? -1) > i
      if (owner !== undefined && !later) return 'call'
      if (!blocksWrites(row)) throw new TypeError('the id of an execution is in use')
      return 'write'
    })
  }

  async settle(settlements: readonly Settlement[]): Promise<(number | undefined)[]> {
    mustBeMoves(settlements)
    const rows = await this.#forChange(settlements.map((settlement) => settlement.id))
    const moved = new Set<ExecutionId>()
    const sequences = settlements.map((settlement) => {
      const row = rows.get(settlement.id)
      const after = row && settled(row, settlement)
      if (!after) return undefined
      rows.set(after.id, after)
      moved.add(after.id)
      return after.sequence
    })
    const written = [...moved].map((id) => outcomes.keep(rows.get(id) as Outcome))
    await this.#tx.updateAll(outcomeUpdate, written)
    return sequences
  }

  async claim(id: ExecutionId, from: InstanceId, to: InstanceId): Promise<number | undefined> {
    if ((await this.#tx.run(claim, [id, from, to])) === 0) return undefined
    return (await this.get(id))?.sequence
  }

  async note(id: ExecutionId, notes: Readonly<Record<string, unknown>>): Promise<void> {
    const row = (await this.#forChange([id])).get(id)
    if (!row) return
    const sql = 'UPDATE executions SET notes = $2 WHERE id = $1'
    await this.#tx.run(sql, [id, keepJson({ ...row.notes, ...notes })])
  }

  countPassed(sessionId: SessionId, grantId: GrantId, since: number): Promise<number> {
    return count(this.#tx, countPassed, [sessionId, grantId, since])
  }

  async #forChange(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Outcome>> {
    if (ids.length === 0) return new Map()
    const rows = await readAll(this.#tx, outcomes, outcomesForChange, [ids])
    return new Map(rows.map((row) => [row.id, row]))
  }
}

function hint(state: ExecutionState | undefined): string {
  return state === undefined || state === 'succeeded' ? '' : ` AND ${indexed}`
}
