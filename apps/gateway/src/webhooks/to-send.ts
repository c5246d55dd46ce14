import { type Webhook, type WebhookDelivery, webhookPlace } from '@sallyport/core'
import type { WebhookToSend } from '../api/worker-admin.ts'

export function toSend(
  { id: webhookId, seal, clear }: Webhook,
  { id: eventId, text: body }: Pick<WebhookDelivery, 'id' | 'text'>,
): WebhookToSend {
  return { webhookId, ...webhookPlace, seal, clear, eventId, body }
}
