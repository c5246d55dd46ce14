/** One run of one harness in one sandbox, under one profile, for one owner. */
import type {
  isolationClasses,
  ProfileId,
  SessionId,
  sessionStates,
  UserId,
} from '@sallyport/protocol'

export type SessionState = (typeof sessionStates)[number]
export type Isolation = (typeof isolationClasses)[number]

/** Why a granted tool, or a whole connection (`tool` null), is not in the toolset. */
export interface Unavailable {
  readonly connection: string
  readonly tool: string | null
  readonly code: string
  readonly reason: string
}

export interface Session {
  readonly id: SessionId
  readonly profileId: ProfileId
  readonly ownerId: UserId
  readonly state: SessionState
  /** `sha256:` of the bearer. */
  readonly tokenHash: string
  readonly isolation: Isolation
  readonly label: string | null
  readonly harness: string | null
  /** The first of the sessions that continue one another: its own id, or that of another. */
  readonly chainId: SessionId
  readonly continues: SessionId | null
  /** Who vouched for the sandbox and how. */
  readonly evidence: unknown
  readonly createdBy: UserId
  readonly createdAt: number
  readonly openedAt: number | null
  readonly expiresAt: number
  readonly idleMs: number
  /** Moved at most once a minute. */
  readonly lastCallAt: number
  readonly endedAt: number | null
  readonly endReason: string | null
  readonly unavailable: readonly Unavailable[]
}
