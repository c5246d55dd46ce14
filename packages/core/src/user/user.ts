import type { Role, TokenId, UserId } from '@sallyport/protocol'

export interface User {
  readonly id: UserId
  readonly name: string
  readonly role: Role
  readonly createdAt: number
  readonly disabledAt: number | null
}

/** A machine or person's API token. Only `sha256:` of its text is kept. */
export interface ApiToken {
  readonly id: TokenId
  readonly userId: UserId
  readonly hash: string
  readonly label: string | null
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

/** Who acts, checked when the request arrives and again inside a transaction that changes authority. */
export interface Actor {
  readonly userId: UserId
  readonly role: Role
}
