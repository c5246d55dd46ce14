import { createWebhook, enableWebhook, removeWebhook, type Webhook } from '@sallyport/core'
import { type Answer, isId, SallyportError, type WebhookId } from '@sallyport/protocol'
import { failureOf, saysGone } from '../webhooks/courier.ts'
import { toSend } from '../webhooks/to-send.ts'
import type { ApiDeps } from './api-deps.ts'
import { isPlaintext, secretsOfWebhook } from './given-secrets.ts'
import type { HandlersOf } from './handlers.ts'
import { viewTime, viewTimeOrNull } from './view-time.ts'

export function webhookHandlers(deps: ApiDeps): HandlersOf<'webhook'> {
  const { store, destinations } = deps
  const show = async (webhook: Webhook): Promise<Answer<'webhook.test'>> => {
    const waiting = await store.webhooks.countDeliveries()
    return viewWebhook(webhook, waiting.get(webhook.id) ?? 0)
  }
  return {
    'webhook.list': async () => {
      const waiting = await store.webhooks.countDeliveries()
      const webhooks = await store.webhooks.list()
      return { items: webhooks.map((one) => viewWebhook(one, waiting.get(one.id) ?? 0)) }
    },
    'webhook.create': async ({ actor, body }) => {
      const { name, events } = body
      const webhook = { name, events, ...secretsOfWebhook(deps, body) }
      const created = await createWebhook(deps, actor, webhook, destinations)
      return { ...(await show(created)), plaintext: isPlaintext(body) }
    },
    'webhook.enable': async ({ actor, params }) =>
      show(await enableWebhook(deps, actor, params.id)),
    'webhook.remove': async ({ actor, params }) =>
      viewWebhook(await removeWebhook(deps, actor, params.id), 0),
    'webhook.test': async ({ params }) => {
      const webhook = await store.webhooks.get(webhookId(params.id))
      if (!webhook) throw new SallyportError('not_found', { field: 'id' })
      return show(await tryOut(deps, webhook))
    },
  }
}

function webhookId(text: string): WebhookId {
  if (!isId('webhook', text)) throw new SallyportError('not_found', { field: 'id' })
  return text
}

/** Sent once, whatever comes of it; what came of it is noted. Throws `worker_down`. */
async function tryOut({ store, worker, ids }: ApiDeps, webhook: Webhook): Promise<Webhook> {
  const timestamp = viewTime(await store.transact((tx) => tx.now(), { flush: 'later' }))
  const text = JSON.stringify({ type: 'test', timestamp, data: {} })
  const head = await worker.sendWebhook(toSend(webhook, { id: ids('delivery'), text }))
  const code = failureOf(head)
  return store.transact(async (tx) => {
    const at = await tx.now()
    const came =
      code === undefined
        ? { lastDeliveredAt: at, lastFailure: null }
        : { lastFailure: { code, at } }
    if (saysGone(head)) await tx.webhooks.switchOff(webhook.id, at)
    const noted = { ...webhook, ...came }
    await tx.webhooks.noteDelivery(noted)
    return (await tx.webhooks.get(webhook.id)) ?? noted
  })
}

function viewWebhook(webhook: Webhook, waiting: number): Answer<'webhook.test'> {
  const { id, name, clear, events, createdAt, lastDeliveredAt, lastFailure, goneAt } = webhook
  return {
    id,
    name,
    state: stateOf(webhook),
    host: `${clear.scheme}://${clear.host}:${clear.port}`,
    events: [...events],
    createdAt: viewTime(createdAt),
    lastDeliveredAt: viewTimeOrNull(lastDeliveredAt),
    lastFailure: lastFailure && { code: lastFailure.code, at: viewTime(lastFailure.at) },
    goneAt: viewTimeOrNull(goneAt),
    waiting,
  }
}

function stateOf({ goneAt, lastFailure }: Webhook): Answer<'webhook.test'>['state'] {
  if (goneAt !== null) return 'off'
  return lastFailure === null ? 'active' : 'failing'
}
