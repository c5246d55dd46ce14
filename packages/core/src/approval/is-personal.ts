import type { Execution } from '../execution/execution.ts'
import type { Reads } from '../store.ts'

/**
 * Is it a call of somebody's own connection? Also where that cannot be told: then arguments and decisions are the
 * owner's alone.
 */
export async function isPersonal(
  reads: Reads,
  { connectionId }: Pick<Execution, 'connectionId'>,
): Promise<boolean> {
  const connection = connectionId === null ? undefined : await reads.connections.get(connectionId)
  return connection?.ownerId !== null
}
