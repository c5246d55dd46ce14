import type { TokenId, UserId } from '@sallyport/protocol'
import type { ApiToken, User } from './user.ts'

export interface UserReads {
  /** Undefined when there is none. */
  get(id: UserId): Promise<User | undefined>
  byName(name: string): Promise<User | undefined>
  /** By name. */
  list(): Promise<User[]>
  token(id: TokenId): Promise<ApiToken | undefined>
  tokenByHash(hash: string): Promise<ApiToken | undefined>
  /** Newest first; of one user, or of all. */
  tokens(userId?: UserId): Promise<ApiToken[]>
}

export interface UserWrites extends UserReads {
  /**
   * Reads under a lock that `disable` of the same user conflicts with, so that what an actor changes and the end of
   * that actor have an order. Taken before any other lock.
   */
  lock(id: UserId): Promise<User | undefined>
  /** False when the name is taken (compared exactly). */
  insert(user: User): Promise<boolean>
  /** False when it was already disabled. */
  disable(id: UserId, at: number): Promise<boolean>
  insertToken(token: ApiToken): Promise<void>
  /** False when it was already revoked. */
  revokeToken(id: TokenId, at: number): Promise<boolean>
  /** Revokes every token of a user that is not revoked yet. */
  revokeTokensOf(userId: UserId, at: number): Promise<void>
}
