import { SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmActor } from './confirm-actor.ts'
import { newSecretToken } from './secret-token.ts'
import type { Actor, ApiToken } from './user.ts'

const dayMs = 86_400_000

/**
 * A token for oneself; an administrator makes them for anybody who is not disabled. Throws `not_found` for another's
 * name, known or not, unless the actor is an administrator.
 */
export function createToken(
  { store, ids, random }: Deps,
  actor: Actor,
  input: {
    readonly user: string
    readonly label?: string | undefined
    readonly expiresDays?: number | undefined
  },
): Promise<{ readonly token: ApiToken; readonly secret: string }> {
  return store.transact(async (tx) => {
    const { userId, role } = await confirmActor(tx, actor)
    const user = await tx.users.byName(input.user)
    const mayMake = user && (user.id === userId || role === 'admin')
    // Held so that disabling the user either sees this token or is seen here.
    const held = mayMake ? await tx.users.lock(user.id) : undefined
    if (!held || held.disabledAt !== null) throw new SallyportError('not_found', { field: 'user' })
    const now = await tx.now()
    const { secret, hash } = newSecretToken(random)
    const token: ApiToken = {
      id: ids('token'),
      userId: held.id,
      hash,
      label: input.label ?? null,
      createdAt: now,
      expiresAt: input.expiresDays === undefined ? null : now + input.expiresDays * dayMs,
      revokedAt: null,
    }
    await tx.users.insertToken(token)
    return { token, secret }
  })
}
