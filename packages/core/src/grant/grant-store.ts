import type { GrantId, ProfileId } from '@sallyport/protocol'
import type { Grant } from './grant.ts'

export interface GrantReads {
  get(id: GrantId): Promise<Grant | undefined>
  /** Not revoked, by connection, then tool. */
  ofProfile(profileId: ProfileId): Promise<Grant[]>
}

export interface GrantWrites extends GrantReads {
  /** False when a grant that is not revoked exists for the same profile, connection and tool. */
  insert(grant: Grant): Promise<boolean>
  /** False when it was already revoked. */
  revoke(id: GrantId, at: number): Promise<boolean>
}
