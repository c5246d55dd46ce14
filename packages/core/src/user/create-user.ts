import { type Role, SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from './confirm-actor.ts'
import type { Actor, User } from './user.ts'

/** Adds a person. Throws `not_allowed`, `name_taken`. */
export function createUser(
  { store, ids }: Deps,
  actor: Actor,
  input: { readonly name: string; readonly role: Role },
): Promise<User> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    const user: User = {
      id: ids('user'),
      name: input.name,
      role: input.role,
      createdAt: await tx.now(),
      disabledAt: null,
    }
    if (!(await tx.users.insert(user))) throw new SallyportError('name_taken', { field: 'name' })
    return user
  })
}
