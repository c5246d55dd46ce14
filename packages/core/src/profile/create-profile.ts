import { isConnectionName, type ProfileSettings, SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Profile } from './profile.ts'

/** Adds a profile; its name follows the rule of connection names. Throws `not_allowed`, `bad_name`, `name_taken`. */
export function createProfile(
  { store, ids }: Deps,
  actor: Actor,
  input: { readonly name: string; readonly settings: ProfileSettings },
): Promise<Profile> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    if (!isConnectionName(input.name)) throw new SallyportError('bad_name', { field: 'name' })
    const profile: Profile = {
      id: ids('profile'),
      name: input.name,
      state: 'active',
      settings: input.settings,
      createdAt: await tx.now(),
    }
    if (!(await tx.profiles.insert(profile)))
      throw new SallyportError('name_taken', { field: 'name' })
    return profile
  })
}
