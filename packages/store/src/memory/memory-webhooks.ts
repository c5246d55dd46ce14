import type { Webhook, WebhookDelivery, WebhookWrites } from '@sallyport/core'
import type { DeliveryId, WebhookId } from '@sallyport/protocol'
import { type MemoryRows, putNew } from './memory-rows.ts'
import { sorted } from './sort.ts'

export class MemoryWebhooks implements WebhookWrites {
  readonly #webhooks: MemoryRows<Webhook>
  readonly #deliveries: MemoryRows<WebhookDelivery>

  constructor(rows: { webhooks: MemoryRows<Webhook>; deliveries: MemoryRows<WebhookDelivery> }) {
    this.#webhooks = rows.webhooks
    this.#deliveries = rows.deliveries
  }

  async get(id: WebhookId): Promise<Webhook | undefined> {
    return this.#webhooks.get(id)
  }

  async list(): Promise<Webhook[]> {
    return sorted(this.#webhooks.all(), ({ name }) => name)
  }

  async countDeliveries(): Promise<ReadonlyMap<WebhookId, number>> {
    const counts = this.#webhooks.all().map(({ id }) => [id, this.#waiting(id).length] as const)
    return new Map(counts)
  }

  async insert(webhook: Webhook): Promise<boolean> {
    if (this.#webhooks.all().some(({ name }) => name === webhook.name)) return false
    putNew(this.#webhooks, webhook.id, webhook)
    return true
  }

  async noteDelivery({ id, lastDeliveredAt, lastFailure }: Webhook): Promise<void> {
    const webhook = this.#webhooks.get(id)
    if (webhook) this.#webhooks.put({ ...webhook, lastDeliveredAt, lastFailure })
  }

  async switchOff(id: WebhookId, at: number): Promise<void> {
    const webhook = this.#webhooks.get(id)
    if (webhook) this.#webhooks.put({ ...webhook, goneAt: webhook.goneAt ?? at })
    await this.drop(this.#waiting(id).map((delivery) => delivery.id))
  }

  async switchOn(id: WebhookId): Promise<boolean> {
    const webhook = this.#webhooks.get(id)
    if (webhook) this.#webhooks.put({ ...webhook, goneAt: null })
    return webhook !== undefined
  }

  async remove(id: WebhookId): Promise<boolean> {
    for (const delivery of this.#waiting(id)) this.#deliveries.drop(delivery.id)
    if (!this.#webhooks.get(id)) return false
    this.#webhooks.drop(id)
    return true
  }

  async enqueue(deliveries: readonly WebhookDelivery[]): Promise<void> {
    for (const delivery of deliveries)
      if (this.#webhooks.get(delivery.webhookId)?.goneAt === null)
        putNew(this.#deliveries, delivery.id, delivery)
  }

  async take(now: number, until: number, limit: number): Promise<WebhookDelivery[]> {
    const due = this.#deliveries.all().filter(({ nextAt }) => nextAt <= now)
    const byId = sorted(due, ({ id }) => id)
    const taken = byId.sort((a, b) => a.nextAt - b.nextAt).slice(0, limit)
    return taken.map((delivery) => {
      const after = { ...delivery, nextAt: until }
      this.#deliveries.put(after)
      return after
    })
  }

  async retry({ id, attempts, nextAt }: WebhookDelivery): Promise<void> {
    const delivery = this.#deliveries.get(id)
    if (delivery) this.#deliveries.put({ ...delivery, attempts, nextAt })
  }

  async drop(ids: readonly DeliveryId[]): Promise<number> {
    const there = ids.filter((id) => this.#deliveries.get(id))
    for (const id of there) this.#deliveries.drop(id)
    return there.length
  }

  #waiting(id: WebhookId): WebhookDelivery[] {
    return this.#deliveries.all().filter(({ webhookId }) => webhookId === id)
  }
}
