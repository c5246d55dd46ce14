import { type Role, roles } from '@sallyport/protocol'
import type { Profile } from './profile.ts'

/** May this user start sessions with the profile? An administrator may with any; a role stands for those above it too. */
export function mayStart(
  { settings }: Pick<Profile, 'settings'>,
  user: { readonly name: string; readonly role: Role },
): boolean {
  if (user.role === 'admin') return true
  return settings.actors.some((actor) => {
    if (!actor.startsWith('role:')) return actor === user.name
    const least = roles.indexOf(actor.slice('role:'.length) as Role)
    return least >= 0 && roles.indexOf(user.role) <= least
  })
}
