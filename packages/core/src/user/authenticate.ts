import type { Reads } from '../store.ts'
import { hashToken } from './secret-token.ts'
import type { Actor, ApiToken, User } from './user.ts'

export interface Authenticated {
  readonly actor: Actor
  readonly user: User
  readonly token: ApiToken
}

/** Who a bearer belongs to; undefined when it is unknown, revoked or expired at `now`, or its user is disabled. */
export async function authenticate(
  reads: Reads,
  secret: string,
  now: number,
): Promise<Authenticated | undefined> {
  const token = await reads.users.tokenByHash(hashToken(secret))
  if (!token || tokenState(token, now) !== 'active') return undefined
  const user = await reads.users.get(token.userId)
  if (!user || user.disabledAt !== null) return undefined
  return { actor: { userId: user.id, role: user.role }, user, token }
}

export function tokenState(token: ApiToken, now: number): 'active' | 'revoked' | 'expired' {
  if (token.revokedAt !== null) return 'revoked'
  return token.expiresAt !== null && token.expiresAt <= now ? 'expired' : 'active'
}
