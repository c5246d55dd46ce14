import type { Connection, ConnectionWrites, Observation, Scope } from '@sallyport/core'
import type { ConnectionId } from '@sallyport/protocol'
import { mustRaise } from '../rows/version.ts'
import type { MemoryRows } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryConnections implements ConnectionWrites {
  readonly #connections: MemoryRows<Connection>
  readonly #observations: MemoryRows<Observation>

  constructor(rows: {
    connections: MemoryRows<Connection>
    observations: MemoryRows<Observation>
  }) {
    this.#connections = rows.connections
    this.#observations = rows.observations
  }

  async get(id: ConnectionId): Promise<Connection | undefined> {
    return this.#connections.get(id)
  }

  async getMany(ids: readonly ConnectionId[]): Promise<Connection[]> {
    const found = this.#connections.all().filter(({ id }) => ids.includes(id))
    return sorted(found, ({ id }) => id)
  }

  async byName(scope: Scope, name: string): Promise<Connection | undefined> {
    return (await this.list([scope])).find((connection) => connection.name === name)
  }

  async list(scopes?: readonly Scope[]): Promise<Connection[]> {
    const listed = this.#connections
      .all()
      .filter(({ state, scope }) => state !== 'deleted' && (!scopes || scopes.includes(scope)))
    return sorted(
      listed,
      ({ scope }) => scope,
      ({ name }) => name,
    )
  }

  async observation(id: ConnectionId): Promise<Observation | undefined> {
    return this.#observations.get(id)
  }

  async insert(
    connection: Connection,
    limit: number,
  ): Promise<'inserted' | 'limit' | 'name' | 'id'> {
    if (this.#connections.get(connection.id)) return 'id'
    if (await this.byName(connection.scope, connection.name)) return 'name'
    if ((await this.list([connection.scope])).length >= limit) return 'limit'
    this.#connections.put(connection)
    return 'inserted'
  }

  async update(
    connection: Connection,
    expectedVersion: number,
  ): Promise<'updated' | 'stale' | 'name'> {
    mustRaise(connection.version, expectedVersion)
    if (this.#connections.get(connection.id)?.version !== expectedVersion) return 'stale'
    const named = await this.byName(connection.scope, connection.name)
    if (connection.state !== 'deleted' && named && named.id !== connection.id) return 'name'
    this.#connections.put(connection)
    return 'updated'
  }

  async observe(observation: Observation): Promise<boolean> {
    const { connectionId, connectionRevision, at } = observation
    const known = this.#observations.get(connectionId)
    if (known && (known.connectionRevision > connectionRevision || known.at > at)) return false
    this.#observations.put(observation)
    return true
  }
}
