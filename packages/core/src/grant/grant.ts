/** Profile × one catalog tool × mode × limits. A row is never edited: a change revokes it and makes another. */
import type {
  ConnectionId,
  GrantId,
  GrantLimits,
  modes,
  ProfileId,
  UserId,
} from '@sallyport/protocol'

export type Mode = (typeof modes)[number]

export interface Grant {
  readonly id: GrantId
  readonly profileId: ProfileId
  readonly connectionId: ConnectionId
  /** The upstream's name of the tool. */
  readonly tool: string
  readonly mode: Mode
  readonly limits: GrantLimits
  /** Over profile, connection, tool, mode and limits. */
  readonly digest: string
  /** Set for a grant of a personal connection: bound only in sessions of this owner. */
  readonly ownerId: UserId | null
  readonly createdBy: UserId
  readonly createdAt: number
  readonly revokedAt: number | null
}
