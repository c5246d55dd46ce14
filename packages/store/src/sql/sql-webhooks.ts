import type { Webhook, WebhookDelivery, WebhookReads, WebhookWrites } from '@sallyport/core'
import type { DeliveryId, WebhookId } from '@sallyport/protocol'
import { deliveries, webhooks } from '../rows/tables.ts'
import type { SqlReader, SqlWriter } from './driver.ts'
import { insert, readAll, readOne, select } from './statements.ts'

const byId = select(webhooks, 'WHERE id = $1')
const all = select(webhooks, 'ORDER BY name')
const countDeliveries = `SELECT webhooks.id, count(deliveries.id) FROM webhooks
  LEFT JOIN deliveries ON webhook_id = webhooks.id GROUP BY webhooks.id`
const insertNew = insert(webhooks, 'ON CONFLICT (name) DO NOTHING')
const noteDelivery = 'UPDATE webhooks SET last_delivered_at = $2, last_failure = $3 WHERE id = $1'
const switchOff = 'UPDATE webhooks SET gone_at = coalesce(gone_at, $2) WHERE id = $1'
const switchOn = 'UPDATE webhooks SET gone_at = NULL WHERE id = $1'
const dropWaiting = 'DELETE FROM deliveries WHERE webhook_id = $1'
/** What another gateway is taking right now is its own. */
const due = select(
  deliveries,
  'WHERE next_at <= $1 ORDER BY next_at, id LIMIT $2 FOR NO KEY UPDATE SKIP LOCKED',
)
/** A removal waits for it, and sees then what was enqueued; a note about a delivery does not. */
const standing =
  'SELECT id FROM webhooks WHERE id = ANY($1) AND gone_at IS NULL ORDER BY id FOR KEY SHARE'
const postpone = 'UPDATE deliveries SET next_at = $2 WHERE id = ANY($1)'
const retry = 'UPDATE deliveries SET attempts = $2, next_at = $3 WHERE id = $1'

export class SqlWebhookReads implements WebhookReads {
  readonly #db: SqlReader

  constructor(db: SqlReader) {
    this.#db = db
  }

  get(id: WebhookId): Promise<Webhook | undefined> {
    return readOne(this.#db, webhooks, byId, [id])
  }

  list(): Promise<Webhook[]> {
    return readAll(this.#db, webhooks, all, [])
  }

  async countDeliveries(): Promise<ReadonlyMap<WebhookId, number>> {
    const rows = await this.#db.rows(countDeliveries, [])
    return new Map(rows.map(([id, count]) => [id as WebhookId, Number(count)]))
  }
}

export class SqlWebhookWrites extends SqlWebhookReads implements WebhookWrites {
  readonly #tx: SqlWriter

  constructor(tx: SqlWriter) {
    super(tx)
    this.#tx = tx
  }

  async insert(webhook: Webhook): Promise<boolean> {
    return (await this.#tx.run(insertNew, webhooks.keep(webhook))) === 1
  }

  async noteDelivery(webhook: Webhook): Promise<void> {
    const kept = webhooks.keep(webhook)
    const field = (name: string) => kept[webhooks.columns.indexOf(name)] ?? null
    const params = [webhook.id, field('last_delivered_at'), field('last_failure')]
    await this.#tx.run(noteDelivery, params)
  }

  async switchOff(id: WebhookId, at: number): Promise<void> {
    await this.#tx.run(switchOff, [id, at])
    await this.#tx.run(dropWaiting, [id])
  }

  async switchOn(id: WebhookId): Promise<boolean> {
    return (await this.#tx.run(switchOn, [id])) === 1
  }

  async remove(id: WebhookId): Promise<boolean> {
    const removed = await this.#tx.run('DELETE FROM webhooks WHERE id = $1', [id])
    await this.#tx.run(dropWaiting, [id])
    return removed === 1
  }

  async enqueue(rows: readonly WebhookDelivery[]): Promise<void> {
    if (rows.length === 0) return
    const ids = [...new Set(rows.map(({ webhookId }) => webhookId))]
    const there = new Set((await this.#tx.rows(standing, [ids])).map(([id]) => id))
    const wanted = rows.filter(({ webhookId }) => there.has(webhookId))
    await this.#tx.insertAll(deliveries, wanted.map(deliveries.keep))
  }

  async take(now: number, until: number, limit: number): Promise<WebhookDelivery[]> {
    const taken = await readAll(this.#tx, deliveries, due, [now, limit])
    if (taken.length > 0) await this.#tx.run(postpone, [taken.map(({ id }) => id), until])
    return taken.map((delivery) => ({ ...delivery, nextAt: until }))
  }

  async retry({ id, attempts, nextAt }: WebhookDelivery): Promise<void> {
    await this.#tx.run(retry, [id, attempts, nextAt])
  }

  async drop(ids: readonly DeliveryId[]): Promise<number> {
    if (ids.length === 0) return 0
    return await this.#tx.run('DELETE FROM deliveries WHERE id = ANY($1)', [ids])
  }
}
