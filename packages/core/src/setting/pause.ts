import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'

/** Value of the setting `pause`. */
export interface Pause {
  readonly writesOnly: boolean
  readonly note: string
}

export const pauseSetting = 'pause'

/** When it resolves no barrier passes any more, or no write. Throws `not_allowed`. */
export function pauseCalls({ store }: Deps, actor: Actor, pause: Pause): Promise<void> {
  return store.transact(async (tx) => {
    const { userId } = await confirmAdmin(tx, actor)
    await tx.lockForChange({ pause: true })
    await tx.settings.set({
      name: pauseSetting,
      value: { writesOnly: pause.writesOnly, note: pause.note },
      by: userId,
      at: await tx.now(),
    })
  })
}

/** Goes on; also when nothing was paused. Throws `not_allowed`. */
export function resumeCalls({ store }: Deps, actor: Actor): Promise<void> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    await tx.lockForChange({ pause: true })
    await tx.settings.unset(pauseSetting)
  })
}
