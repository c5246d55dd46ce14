import type { ConnectionId } from '@sallyport/protocol'
import type { Connection, Observation, Scope } from './connection.ts'

export interface ConnectionReads {
  /** Undefined when there is none; deleted ones are returned. */
  get(id: ConnectionId): Promise<Connection | undefined>
  getMany(ids: readonly ConnectionId[]): Promise<Connection[]>
  /** Not deleted. */
  byName(scope: Scope, name: string): Promise<Connection | undefined>
  /** Not deleted, by scope, then name; of the scopes given, or of all. */
  list(scopes?: readonly Scope[]): Promise<Connection[]>
  observation(id: ConnectionId): Promise<Observation | undefined>
}

export interface ConnectionWrites extends ConnectionReads {
  /**
   * One conditional insert: `limit` when the scope already holds that many (deleted ones do not count), `name` when
   * a connection of the scope that is not deleted has the name, `id` when the id is in use.
   */
  insert(connection: Connection, limit: number): Promise<'inserted' | 'limit' | 'name' | 'id'>
  /**
   * Replaces the row when its version still is `expectedVersion`; `connection.version` must be greater.
   * `stale` when the version moved, `name` when the new name is taken.
   */
  update(connection: Connection, expectedVersion: number): Promise<'updated' | 'stale' | 'name'>
  /** Keeps the newest by `at`; false when a newer one, or one of a later connection revision, is there. */
  observe(observation: Observation): Promise<boolean>
}
