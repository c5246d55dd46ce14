import type { ProfileId, ProfileSettings } from '@sallyport/protocol'

/** A named policy for a kind of session. */
export interface Profile {
  readonly id: ProfileId
  readonly name: string
  readonly state: 'active' | 'deleted'
  readonly settings: ProfileSettings
  readonly createdAt: number
}
