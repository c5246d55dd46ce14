import { SallyportError } from '@sallyport/protocol'
import type { Tx } from '../store.ts'
import type { Connection } from './connection.ts'

/** Writes the next version of a locked row. Throws `conflict`, `name_taken`. */
export async function saveConnection(
  tx: Tx,
  before: Connection,
  after: Connection,
): Promise<Connection> {
  const saved: Connection = { ...after, version: before.version + 1, updatedAt: await tx.now() }
  const outcome = await tx.connections.update(saved, before.version)
  if (outcome === 'stale') throw new SallyportError('conflict')
  if (outcome === 'name') throw new SallyportError('name_taken', { field: 'name' })
  return saved
}
