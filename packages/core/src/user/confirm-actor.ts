import { SallyportError } from '@sallyport/protocol'
import type { Tx } from '../store.ts'
import type { Actor } from './user.ts'

/**
 * The actor as this transaction sees it, held until it ends: the role may have changed, or the user may have been
 * disabled, since the request was let in. First step of every verb. Throws `not_allowed`.
 */
export async function confirmActor(tx: Tx, actor: Actor): Promise<Actor> {
  const user = await tx.users.lock(actor.userId)
  if (!user || user.disabledAt !== null) throw new SallyportError('not_allowed')
  return { userId: user.id, role: user.role }
}

/** As `confirmActor`, for what only administrators may do. */
export async function confirmAdmin(tx: Tx, actor: Actor): Promise<Actor> {
  const confirmed = await confirmActor(tx, actor)
  if (confirmed.role !== 'admin') throw new SallyportError('not_allowed')
  return confirmed
}
