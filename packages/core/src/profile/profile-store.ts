import type { ProfileId } from '@sallyport/protocol'
import type { Profile } from './profile.ts'

export interface ProfileReads {
  get(id: ProfileId): Promise<Profile | undefined>
  byName(name: string): Promise<Profile | undefined>
  /** By name. */
  list(): Promise<Profile[]>
}

export interface ProfileWrites extends ProfileReads {
  /** False when the name is taken. */
  insert(profile: Profile): Promise<boolean>
}
