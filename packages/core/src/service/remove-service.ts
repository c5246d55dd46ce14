import { SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Service } from './service.ts'

/** It is not offered any more; connections to it stay as they are. Throws `not_allowed`, `not_found`. */
export function removeService(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  name: string,
): Promise<Service> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    const service = await tx.services.byName(name)
    if (!service || !(await tx.services.remove(service.id)))
      throw new SallyportError('not_found', { field: 'name' })
    return service
  })
}
