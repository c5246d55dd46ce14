import type {
  Connection,
  ConnectionReads,
  ConnectionWrites,
  Observation,
  Scope,
} from '@sallyport/core'
import type { ConnectionId } from '@sallyport/protocol'
import { connections, observations } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import { mustRaise } from '../rows/version.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, placeholders, readAll, readOne, replace, select } from './statements.ts'

const byId = select(connections, 'WHERE id = $1')
const byIds = select(connections, 'WHERE id = ANY($1) ORDER BY id')
const byName = select(connections, "WHERE scope = $1 AND name = $2 AND state <> 'deleted'")
const all = select(connections, "WHERE state <> 'deleted' ORDER BY scope, name")
const ofScopes = select(
  connections,
  "WHERE scope = ANY($1) AND state <> 'deleted' ORDER BY scope, name",
)
const observationOf = select(observations, 'WHERE connection_id = $1')

const next = connections.columns.length + 1
const insertBelowLimit = `
  INSERT INTO connections (${connections.columns.join(', ')})
  SELECT ${placeholders(connections)}
  WHERE (SELECT count(*) FROM connections WHERE scope = $3 AND state <> 'deleted') < $${next}
  ON CONFLICT DO NOTHING`
const replaceVersion = replace(connections, `version = $${next}`)
const observe = insert(
  observations,
  `ON CONFLICT (connection_id) DO UPDATE SET connection_revision = excluded.connection_revision,
     digest = excluded.digest, at = excluded.at, tools = excluded.tools
   WHERE observations.connection_revision <= excluded.connection_revision
     AND observations.at <= excluded.at`,
)

export class SqlConnectionReads implements ConnectionReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: ConnectionId): Promise<Connection | undefined> {
    return readOne(this.#db, connections, byId, [id])
  }

  getMany(ids: readonly ConnectionId[]): Promise<Connection[]> {
    return readAll(this.#db, connections, byIds, [ids])
  }

  byName(scope: Scope, name: string): Promise<Connection | undefined> {
    return readOne(this.#db, connections, byName, [keepText(scope), keepText(name)])
  }

  list(scopes?: readonly Scope[]): Promise<Connection[]> {
    return scopes === undefined
      ? readAll(this.#db, connections, all, [])
      : readAll(this.#db, connections, ofScopes, [scopes.map(keepText)])
  }

  observation(id: ConnectionId): Promise<Observation | undefined> {
    return readOne(this.#db, observations, observationOf, [id])
  }
}

export class SqlConnectionWrites extends SqlConnectionReads implements ConnectionWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(
    connection: Connection,
    limit: number,
  ): Promise<'inserted' | 'limit' | 'name' | 'id'> {
    const kept = connections.keep(connection)
    // Two connections of Postgres would both count what neither has committed.
    await this.#tx.holdKey(`scope ${connection.scope}`)
    if ((await this.#tx.run(insertBelowLimit, [...kept, limit])) === 1) return 'inserted'
    if (await this.get(connection.id)) return 'id'
    return (await this.byName(connection.scope, connection.name)) ? 'name' : 'limit'
  }

  async update(
    connection: Connection,
    expectedVersion: number,
  ): Promise<'updated' | 'stale' | 'name'> {
    mustRaise(connection.version, expectedVersion)
    const kept = connections.keep(connection)
    const written = await this.#tx.attempt(replaceVersion, [...kept, expectedVersion])
    if (written === undefined) return 'name'
    return written === 1 ? 'updated' : 'stale'
  }

  async observe(observation: Observation): Promise<boolean> {
    return (await this.#tx.run(observe, observations.keep(observation))) === 1
  }
}
