import type { IdSource } from '@sallyport/protocol'
import type { Connection } from '../connection/connection.ts'
import type { Store, Tx } from '../store.ts'
import { enqueueText } from '../webhook/told-event.ts'
import type { ToldCondition } from './condition-store.ts'
import { type ConnectionCondition, conditionOf } from './connection-condition.ts'
import { readHealth } from './read-health.ts'

/**
 * Tells webhooks of every connection that is not as it was told last, once, whichever gateway notices. Run from time to time:
 * some of it comes with time alone. What nobody has looked at is not told, nor is how a connection was found first.
 */
export async function tellConditions({
  store,
  ids,
}: {
  readonly store: Store
  readonly ids: IdSource
}): Promise<void> {
  const told = new Map((await store.conditions.list()).map((one) => [one.connectionId, one]))
  const now = await store.transact((tx) => tx.now(), { flush: 'later' })
  for (const connection of await store.connections.list()) {
    const found = conditionOf(await readHealth(store, connection), now)
    const before = told.get(connection.id)
    if (found.condition === 'unknown' || found.condition === before?.condition) continue
    await store.transact((tx) => tell(tx, connection, { found, before }, ids))
  }
}

async function tell(
  tx: Tx,
  connection: Connection,
  { found, before }: { found: ConnectionCondition; before: ToldCondition | undefined },
  ids: IdSource,
): Promise<void> {
  const since = await tx.now()
  // Another gateway may have been first.
  if (!(await tx.conditions.put({ ...found, connectionId: connection.id, since }, before))) return
  if (before)
    await enqueueText(tx, 'connection.health', textOf(connection, found, before, since), ids)
}

/** Ids, names, states and codes of ours: nothing that came from outside. */
function textOf(
  { id, name, scope }: Connection,
  { condition, code }: ConnectionCondition,
  before: ToldCondition,
  at: number,
): string {
  return JSON.stringify({
    type: 'connection.health',
    timestamp: new Date(at).toISOString(),
    data: {
      connectionId: id,
      connection: name,
      scope,
      condition,
      code: code ?? undefined,
      before: before.condition,
    },
  })
}
