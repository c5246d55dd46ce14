import { type ConnectionId, isId, SallyportError } from '@sallyport/protocol'
import type { Reads, Tx } from '../store.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'

/** Administrators see that a personal connection of another exists, and not what is in it. */
export function maySee(actor: Actor, connection: Connection): boolean {
  return connection.ownerId === null || mayUse(actor, connection) || actor.role === 'admin'
}

/** May the actor read what is in it: everybody for org and projects, the owner of a personal one? */
export function mayUse(actor: Actor, { ownerId }: Connection): boolean {
  return ownerId === null || ownerId === actor.userId
}

/** A personal connection and its catalogs are its owner's; the others are the administrators'. */
export function mayManage(actor: Actor, { ownerId }: Connection): boolean {
  return ownerId === null ? actor.role === 'admin' : ownerId === actor.userId
}

/** What is not the actor's is told as `not_found`, what may be seen and not changed as `not_allowed`. */
export function checkMayManage(actor: Actor, connection: Connection | undefined): Connection {
  const seen = checkMaySee(actor, connection)
  if (!mayManage(actor, seen)) throw new SallyportError('not_allowed')
  return seen
}

export function checkMayUse(actor: Actor, connection: Connection | undefined): Connection {
  const seen = checkMaySee(actor, connection)
  if (!mayUse(actor, seen)) throw new SallyportError('not_allowed')
  return seen
}

function checkMaySee(actor: Actor, connection: Connection | undefined): Connection {
  if (!connection || connection.state === 'deleted' || !maySee(actor, connection))
    throw new SallyportError('not_found', { field: 'connection' })
  return connection
}

/**
 * The connection that the actor means by a name or an id. Of one name, what the actor may use goes before what an
 * administrator merely sees; several are `ambiguous_name`. Throws `not_found` for what the actor may not see.
 */
export async function findConnection(
  reads: Reads,
  actor: Actor,
  nameOrId: string,
): Promise<Connection> {
  if (isId('connection', nameOrId))
    return checkMaySee(actor, await reads.connections.get(nameOrId as ConnectionId))
  const named = (await reads.connections.list()).filter(
    (connection) => connection.name === nameOrId && maySee(actor, connection),
  )
  const usable = named.filter((connection) => mayUse(actor, connection))
  const [found, other] = usable.length > 0 ? usable : named
  if (other) throw new SallyportError('ambiguous_name', { field: 'connection' })
  return checkMaySee(actor, found)
}

/** Locks the row against every barrier, then reads it. Throws as `checkMayManage`. */
export async function lockConnection(tx: Tx, actor: Actor, id: ConnectionId): Promise<Connection> {
  await tx.lockForChange({ connections: [id] })
  return checkMayManage(actor, await tx.connections.get(id))
}
