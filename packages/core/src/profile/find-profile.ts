import { isId, SallyportError } from '@sallyport/protocol'
import type { Reads } from '../store.ts'
import type { Profile } from './profile.ts'

/** The active profile of that name or id. Throws `not_found`. */
export async function findProfile(reads: Reads, nameOrId: string): Promise<Profile> {
  const profile = isId('profile', nameOrId)
    ? await reads.profiles.get(nameOrId)
    : await reads.profiles.byName(nameOrId)
  if (profile?.state !== 'active') throw new SallyportError('not_found', { field: 'profile' })
  return profile
}
