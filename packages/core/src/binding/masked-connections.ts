import type { ConnectionId } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import { scopeKind, scopeRank } from '../connection/scope.ts'

/**
 * Of the connections granted to one session, those whose name is taken by another: organization before project before
 * personal, among what was ever enabled (also while disabled). Drafts and deleted ones take no name. What is
 * enabled was once enabled, so a name never means two things in one session.
 */
export function maskedConnections(
  granted: readonly Connection[],
  orgConnections: readonly Connection[],
): ReadonlySet<ConnectionId> {
  const first = new Map<string, Connection>()
  for (const connection of [...orgConnections, ...granted]) {
    const holder = first.get(connection.name)
    if (mayMask(connection) && (!holder || order(connection) < order(holder)))
      first.set(connection.name, connection)
  }
  const masked = granted.filter(({ id, name }) => {
    const holder = first.get(name)
    return holder !== undefined && holder.id !== id
  })
  return new Set(masked.map(({ id }) => id))
}

function mayMask({ everEnabled, state }: Connection): boolean {
  return everEnabled && state !== 'deleted'
}

function order({ scope, id }: Connection): string {
  return `${scopeRank[scopeKind(scope)]} ${scope} ${id}`
}
