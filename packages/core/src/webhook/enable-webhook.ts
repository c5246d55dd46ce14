import { isId, SallyportError } from '@sallyport/protocol'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import type { Webhook } from './webhook.ts'

/** Told again of what happens from now on. Enabling twice is enabling once. Throws `not_allowed`, `not_found`. */
export function enableWebhook(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  id: string,
): Promise<Webhook> {
  return store.transact(async (tx) => {
    await confirmAdmin(tx, actor)
    const webhook = isId('webhook', id) ? await tx.webhooks.get(id) : undefined
    if (!webhook || !(await tx.webhooks.switchOn(webhook.id)))
      throw new SallyportError('not_found', { field: 'id' })
    return { ...webhook, goneAt: null }
  })
}
