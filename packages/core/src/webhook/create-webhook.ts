import { SallyportError, type WebhookId } from '@sallyport/protocol'
import { checkOrigin, checkPlace, type Destinations } from '../connection/check-secrets.ts'
import type { Deps } from '../deps.ts'
import { confirmAdmin } from '../user/confirm-actor.ts'
import type { Actor } from '../user/user.ts'
import { holdSealKey } from '../vault/hold-seal-key.ts'
import type { Webhook } from './webhook.ts'

/** What the header of a webhook's seal says beside its id. */
export const webhookPlace = { scope: 'org', version: 1 } as const

export interface NewWebhook extends Pick<Webhook, 'name' | 'seal' | 'clear' | 'events'> {
  /** Chosen by whoever sealed, since the seal names it. */
  readonly id: WebhookId
}

/**
 * Tells another system of decisions from now on. Throws `not_allowed`, `name_taken`, `seal_*`, `bad_url`, and
 * `conflict` for an id that is in use.
 */
export function createWebhook(
  { store }: Pick<Deps, 'store'>,
  actor: Actor,
  { id, name, seal, clear, events }: NewWebhook,
  destinations: Destinations,
): Promise<Webhook> {
  return store.transact(async (tx) => {
    const { userId } = await confirmAdmin(tx, actor)
    checkPlace(seal, { kind: 'webhook', id, ...webhookPlace })
    await holdSealKey(tx, seal)
    checkOrigin(clear, destinations)
    if (await tx.webhooks.get(id)) throw new SallyportError('conflict', { field: 'id' })
    const webhook: Webhook = {
      ...{ id, name, seal, clear, events },
      createdBy: userId,
      createdAt: await tx.now(),
      lastDeliveredAt: null,
      lastFailure: null,
      goneAt: null,
    }
    if (!(await tx.webhooks.insert(webhook)))
      throw new SallyportError('name_taken', { field: 'name' })
    return webhook
  })
}
