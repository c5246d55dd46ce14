import type { CallerChange, Execution, ExecutionWrites, Settlement } from '@sallyport/core'
import type { ExecutionId, GrantId, InstanceId, SessionId } from '@sallyport/protocol'
import { dispatchEach, dispatches } from '../rows/dispatch.ts'
import { keepJson } from '../rows/json.ts'
import { blocksWrites, mustBeMoves, type Outcome, outcomes, settled } from '../rows/outcome.ts'
import { executions } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { callerSwap, inRounds, keepChange } from './caller-swap.ts'
import type { SqlWriter, Update } from './driver.ts'
import { inLockOrder, writeKeys } from './insert-order.ts'
import { SqlExecutionReads } from './sql-execution-reads.ts'
import { count, readAll, select } from './statements.ts'

const sameCalls = `SELECT session_id, call_id, id FROM executions
  WHERE session_id = ANY($1) AND call_id = ANY($2)`
const outcomeUpdate: Update = { ...outcomes, keys: 1 }
const outcomesForChange = select(outcomes, 'WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE')
const claim = `UPDATE executions SET gateway_instance = $3, sequence = sequence + 1
  WHERE id = $1 AND gateway_instance = $2 AND state = 'dispatching'`
const countPassed = `SELECT count(*) FROM executions
  WHERE session_id = $1 AND grant_id = $2 AND barrier_at > $3`
const locked = select(executions, 'WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE')
const dispatchUpdate: Update = { ...dispatches, keys: 1 }
const dispatchesForChange = select(dispatches, 'WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE')
/** With the condition of the index `executions_write`. */
const blockedKeys = `SELECT write_key FROM executions WHERE write_key IS NOT NULL
  AND state IN ('dispatching', 'unknown') AND write_key = ANY($1)`

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

  async lock(ids: readonly ExecutionId[]): Promise<ReadonlyMap<ExecutionId, Execution>> {
    if (ids.length === 0) return new Map()
    const rows = await readAll(this.#tx, executions, locked, [ids])
    return new Map(rows.map((row) => [row.id, row]))
  }

  holdWriteKeys(keys: readonly string[], how: 'try' | 'wait'): Promise<ReadonlySet<string>> {
    return this.#tx.holdWriteKeys([...new Set(keys)], how)
  }

  async dispatch(rows: readonly Execution[]): Promise<(number | undefined)[]> {
    if (rows.length === 0) return []
    const ids = rows.map(({ id }) => id)
    const found = await readAll(this.#tx, dispatches, dispatchesForChange, [ids])
    const keys = found.flatMap(({ writeKey }) => (writeKey === null ? [] : [writeKey]))
    const blocked = await this.#tx.rows(blockedKeys, [keys])
    const after = dispatchEach(
      rows,
      new Map<string, (typeof found)[number]>(found.map((row) => [row.id, row])),
      new Set(blocked.map(([key]) => key as string)),
    )
    const moved = after.filter((row) => row !== undefined)
    await this.#tx.updateAll(dispatchUpdate, moved.map(dispatches.keep))
    return after.map((row) => row?.sequence)
  }

  async moveCallers(changes: readonly CallerChange[]): Promise<boolean[]> {
    const moved = changes.map(() => false)
    for (const round of inRounds(changes)) {
      const rows = round.map(({ change }) => keepChange(change))
      const results = await this.#tx.swapAll(callerSwap, rows)
      round.forEach(({ place }, i) => {
        moved[place] = results[i] === true
      })
    }
    return moved
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
