import type { Execution, ExecutionFilter, ExecutionReads, ExecutionState } from '@sallyport/core'
import type { ConnectionId, ExecutionId, InstanceId, SessionId, UserId } from '@sallyport/protocol'
import { unfinishedStates } from '../rows/outcome.ts'
import { executions } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { where } from './conditions.ts'
import type { SqlReader } from './driver.ts'
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
/** Each by an index of its own, in the words of its condition. */
export const lookUps = {
  waiting: select(
    executions,
    `WHERE ${indexed} AND state IN ('awaiting_approval', 'approved') ORDER BY id LIMIT $1`,
  ),
  twins: select(
    executions,
    "WHERE write_key = ANY($1) AND caller IS NOT NULL AND caller <> 'collected' ORDER BY id",
  ),
  /** The words also keep SQLite from taking this index for `twins`. */
  identical: select(
    executions,
    "WHERE write_key = $1 AND write_key <> '' AND arrived_at > $2 ORDER BY id DESC LIMIT $3",
  ),
  unknownOf: select(
    executions,
    `WHERE state = 'unknown' AND owner_id = $1 AND connection_id = $2 AND tool = $3
     ORDER BY id DESC LIMIT $4`,
  ),
}

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
  waiting(limit: number): Promise<Execution[]> {
    return readAll(this.#db, executions, lookUps.waiting, [limit])
  }

  async twins(writeKeys: readonly string[]): Promise<Execution[]> {
    return writeKeys.length === 0 ? [] : readAll(this.#db, executions, lookUps.twins, [writeKeys])
  }

  identical(writeKey: string, since: number, limit: number): Promise<Execution[]> {
    return readAll(this.#db, executions, lookUps.identical, [writeKey, since, limit])
  }

  unknownOf(
    { ownerId, connectionId, tool }: { ownerId: UserId; connectionId: ConnectionId; tool: string },
    limit: number,
  ): Promise<Execution[]> {
    const params = [ownerId, connectionId, keepText(tool), limit]
    return readAll(this.#db, executions, lookUps.unknownOf, params)
  }
}

function hint(state: ExecutionState | undefined): string {
  return state === undefined || state === 'succeeded' ? '' : ` AND ${indexed}`
}
