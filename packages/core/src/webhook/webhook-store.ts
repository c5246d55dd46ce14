import type { DeliveryId, WebhookId } from '@sallyport/protocol'
import type { Webhook, WebhookDelivery } from './webhook.ts'

export interface WebhookReads {
  get(id: WebhookId): Promise<Webhook | undefined>
  /** By name. */
  list(): Promise<Webhook[]>
  /** How many deliveries wait for each webhook. */
  countDeliveries(): Promise<ReadonlyMap<WebhookId, number>>
}

export interface WebhookWrites extends WebhookReads {
  /** False when the name is in use. */
  insert(webhook: Webhook): Promise<boolean>
  /** Writes `lastDeliveredAt` and `lastFailure`. */
  noteDelivery(webhook: Webhook): Promise<void>
  /** Writes `goneAt`, and drops what waits for it. One that is off stays off since then. */
  switchOff(id: WebhookId, at: number): Promise<void>
  /** False when there is none. */
  switchOn(id: WebhookId): Promise<boolean>
  /** With its deliveries. False when there is none. */
  remove(id: WebhookId): Promise<boolean>
  /**
   * Leaves out those of a webhook that is off, as far as this transaction can see, and those of one that was removed
   * meanwhile: nobody would ever drop them.
   */
  enqueue(deliveries: readonly WebhookDelivery[]): Promise<void>
  /**
   * Takes deliveries that are due for this transaction's gateway alone: their `nextAt` becomes `until`, so that another
   * one takes them only when this one did not report by then. Longest due first.
   */
  take(now: number, until: number, limit: number): Promise<WebhookDelivery[]>
  /** Writes attempts and `nextAt`. */
  retry(delivery: WebhookDelivery): Promise<void>
  /** They were delivered, or given up. How many of them were still there. */
  drop(ids: readonly DeliveryId[]): Promise<number>
}
