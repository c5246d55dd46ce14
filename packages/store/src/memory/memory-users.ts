import type { ApiToken, User, UserWrites } from '@sallyport/core'
import type { TokenId, UserId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { newestFirst, sorted } from './sort.ts'

export class MemoryUsers implements UserWrites {
  readonly #users: MemoryRows<User>
  readonly #tokens: MemoryRows<ApiToken>

  constructor(rows: { users: MemoryRows<User>; tokens: MemoryRows<ApiToken> }) {
    this.#users = rows.users
    this.#tokens = rows.tokens
  }

  async get(id: UserId): Promise<User | undefined> {
    return this.#users.get(id)
  }

  async byName(name: string): Promise<User | undefined> {
    return this.#users.all().find((user) => user.name === name)
  }

  async list(): Promise<User[]> {
    return sorted(this.#users.all(), (user) => user.name)
  }

  async token(id: TokenId): Promise<ApiToken | undefined> {
    return this.#tokens.get(id)
  }

  async tokenByHash(hash: string): Promise<ApiToken | undefined> {
    return this.#tokens.all().find((token) => token.hash === hash)
  }

  async tokens(userId?: UserId): Promise<ApiToken[]> {
    const tokens = this.#tokens.all()
    return newestFirst(tokens.filter((token) => userId === undefined || token.userId === userId))
  }

  lock(id: UserId): Promise<User | undefined> {
    return this.get(id)
  }

  async insert(user: User): Promise<boolean> {
    if (await this.byName(user.name)) return false
    putNew(this.#users, user.id, user)
    return true
  }

  async disable(id: UserId, at: number): Promise<boolean> {
    const user = this.#users.get(id)
    if (user?.disabledAt !== null) return false
    this.#users.put({ ...user, disabledAt: at })
    return true
  }

  async insertToken(token: ApiToken): Promise<void> {
    if (await this.tokenByHash(token.hash)) this.#tokens.collide()
    putNew(this.#tokens, token.id, token)
  }

  async revokeToken(id: TokenId, at: number): Promise<boolean> {
    const token = this.#tokens.get(id)
    if (token?.revokedAt !== null) return false
    this.#tokens.put({ ...token, revokedAt: at })
    return true
  }

  async revokeTokensOf(userId: UserId, at: number): Promise<void> {
    for (const token of await this.tokens(userId)) await this.revokeToken(token.id, at)
  }
}
