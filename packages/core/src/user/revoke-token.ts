import { SallyportError, type TokenId } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmActor } from './confirm-actor.ts'
import type { Actor, ApiToken } from './user.ts'

/** One's own token, or any for an administrator; others' are `not_found`. Revoking twice is revoking once. */
export function revokeToken({ store }: Deps, actor: Actor, id: TokenId): Promise<ApiToken> {
  return store.transact(async (tx) => {
    const { userId, role } = await confirmActor(tx, actor)
    const token = await tx.users.token(id)
    if (!token || (token.userId !== userId && role !== 'admin'))
      throw new SallyportError('not_found', { field: 'id' })
    const now = await tx.now()
    const revoked = await tx.users.revokeToken(id, now)
    return revoked ? { ...token, revokedAt: now } : token
  })
}
