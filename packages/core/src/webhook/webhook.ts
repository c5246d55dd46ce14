/** Another system that is told when somebody has something to decide. What waits for it is an outbox, tried until it left. */
import type { DeliveryId, UserId, WebhookId, webhookEvents } from '@sallyport/protocol'

export type WebhookEvent = (typeof webhookEvents)[number]

export interface Webhook {
  readonly id: WebhookId
  readonly name: string
  /** Address and signing secret, which only a worker can open. */
  readonly seal: string
  readonly clear: {
    readonly scheme: 'https' | 'http'
    readonly host: string
    readonly port: number
  }
  readonly events: readonly WebhookEvent[]
  readonly createdBy: UserId
  readonly createdAt: number
  readonly lastDeliveredAt: number | null
  readonly lastFailure: { readonly code: string; readonly at: number } | null
  /** When its receiver said that it is gone for good: until somebody switches it on again it is told nothing. */
  readonly goneAt: number | null
}

/** One event for one webhook. Its id is told as `webhook-id`, the same at each attempt. */
export interface WebhookDelivery {
  readonly id: DeliveryId
  readonly webhookId: WebhookId
  readonly event: WebhookEvent
  /** JSON text as it is sent. */
  readonly text: string
  readonly createdAt: number
  readonly attempts: number
  /** When it is tried next, ms since 1970. */
  readonly nextAt: number
}
