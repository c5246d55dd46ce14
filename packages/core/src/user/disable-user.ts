import { SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { closeSessions } from '../session/close-sessions.ts'
import { finishSession, type InFlight } from '../session/finish-session.ts'
import { confirmAdmin } from './confirm-actor.ts'
import type { Actor, User } from './user.ts'

/**
 * Disables a person, revokes the tokens and ends the sessions. Nobody disables oneself, so an administrator always
 * remains. When it resolves nothing of that person passes any more.
 */
export async function disableUser(
  { store, journal }: Pick<Deps, 'store' | 'journal'>,
  inFlight: InFlight,
  actor: Actor,
  name: string,
): Promise<User> {
  const { user, closing } = await journal.transact(async (tx, page) => {
    const { userId } = await confirmAdmin(tx, actor)
    const user = await tx.users.byName(name)
    if (!user) throw new SallyportError('not_found', { field: 'name' })
    if (user.id === userId) throw new SallyportError('not_allowed', { field: 'name' })
    const now = await tx.now()
    const disabled = await tx.users.disable(user.id, now)
    await tx.users.revokeTokensOf(user.id, now)
    const closing = await closeSessions(tx, page, user.id, 'user_disabled')
    return { user: disabled ? { ...user, disabledAt: now } : user, closing }
  })
  // Closed is closed: what could not be finished now stays `closing`, and the sweep finishes it.
  await Promise.allSettled(closing.map((id) => finishSession(store, inFlight, id)))
  return user
}
