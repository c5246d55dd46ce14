import { SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { isInBounds, isSettingName, type SettingName } from './settings.ts'

/** Throws `not_allowed`, `not_found` for a name that is not in the table, `bad_request` for a value out of bounds. */
export function setSetting(
  { store }: Deps,
  actor: Actor,
  name: string,
  value: unknown,
): Promise<SettingName> {
  return store.transact(async (tx) => {
    const { userId } = await confirmAdmin(tx, actor)
    const known = knownName(name)
    if (!isInBounds(known, value)) throw new SallyportError('bad_request', { field: 'value' })
    await tx.settings.set({ name: known, value, by: userId, at: await tx.now() })
    return known
  })
}

/** Back to the default. Throws `not_allowed`, `not_found` for a name that is not in the table. */
export function unsetSetting({ store }: Deps, actor: Actor, name: string): Promise<SettingName> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    const known = knownName(name)
    await tx.settings.unset(known)
    return known
  })
}

function knownName(name: string): SettingName {
  if (!isSettingName(name)) throw new SallyportError('not_found', { field: 'name' })
  return name
}
