import type { ApiToken, User, UserReads, UserWrites } from '@sallyport/core'
import type { TokenId, UserId } from '@sallyport/protocol'
import { tokens, users } from '../rows/tables.ts'
import { keepText } from '../rows/text.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const byId = select(users, 'WHERE id = $1')
const byIdHeld = select(users, 'WHERE id = $1 FOR SHARE')
const byName = select(users, 'WHERE name = $1')
const allUsers = select(users, 'ORDER BY name')
const tokenById = select(tokens, 'WHERE id = $1')
const tokenByHash = select(tokens, 'WHERE hash = $1')
const allTokens = select(tokens, 'ORDER BY id DESC')
const tokensOf = select(tokens, 'WHERE user_id = $1 ORDER BY id DESC')
const insertUser = insert(users, 'ON CONFLICT (name) DO NOTHING')
const insertToken = insert(tokens)

export class SqlUserReads implements UserReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: UserId): Promise<User | undefined> {
    return readOne(this.#db, users, byId, [id])
  }

  byName(name: string): Promise<User | undefined> {
    return readOne(this.#db, users, byName, [keepText(name)])
  }

  list(): Promise<User[]> {
    return readAll(this.#db, users, allUsers, [])
  }

  token(id: TokenId): Promise<ApiToken | undefined> {
    return readOne(this.#db, tokens, tokenById, [id])
  }

  tokenByHash(hash: string): Promise<ApiToken | undefined> {
    return readOne(this.#db, tokens, tokenByHash, [hash])
  }

  tokens(userId?: UserId): Promise<ApiToken[]> {
    return userId === undefined
      ? readAll(this.#db, tokens, allTokens, [])
      : readAll(this.#db, tokens, tokensOf, [userId])
  }
}

export class SqlUserWrites extends SqlUserReads implements UserWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  lock(id: UserId): Promise<User | undefined> {
    return readOne(this.#tx, users, byIdHeld, [id])
  }

  async insert(user: User): Promise<boolean> {
    return (await this.#tx.run(insertUser, users.keep(user))) === 1
  }

  async disable(id: UserId, at: number): Promise<boolean> {
    const sql = 'UPDATE users SET disabled_at = $2 WHERE id = $1 AND disabled_at IS NULL'
    return (await this.#tx.run(sql, [id, at])) === 1
  }

  async insertToken(token: ApiToken): Promise<void> {
    await this.#tx.run(insertToken, tokens.keep(token))
  }

  async revokeToken(id: TokenId, at: number): Promise<boolean> {
    const sql = 'UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL'
    return (await this.#tx.run(sql, [id, at])) === 1
  }

  async revokeTokensOf(userId: UserId, at: number): Promise<void> {
    const sql = 'UPDATE tokens SET revoked_at = $2 WHERE user_id = $1 AND revoked_at IS NULL'
    await this.#tx.run(sql, [userId, at])
  }
}
