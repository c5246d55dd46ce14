/**
 * Carries what the outbox holds to webhooks, through the worker, which alone can open their addresses and keys. At least
 * once: a delivery whose end is not known is tried again under the same id.
 */
import { retryAfterMs, type Store, type Webhook, type WebhookDelivery } from '@sallyport/core'
import { type ErrorCode, toSallyportError, type WebhookId } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import type { Log } from '../worker/log.ts'

export interface CourierDeps {
  readonly store: Store
  readonly send: (webhook: Webhook, delivery: WebhookDelivery) => Promise<ResultHead>
  readonly log: Log
}

const atOnce = 20
/** Longer than an attempt can take: what this gateway did not report by then, another one tries. */
const takenForMs = 60_000
/** The status of a receiver that is gone for good. Any other refusal may be one that somebody mends there. */
const gone = 410
const switchedOff =
  'webhook switched off: its receiver is gone (410); "sallyport webhook enable NAME" when it is back'

export class Courier {
  readonly #deps: CourierDeps
  #round: Promise<void> | undefined

  constructor(deps: CourierDeps) {
    this.#deps = deps
  }

  /** Tries what is due. Rounds never overlap; a call during one joins it. */
  round(): Promise<void> {
    this.#round ??= this.#carry().finally(() => {
      this.#round = undefined
    })
    return this.#round
  }

  async #carry(): Promise<void> {
    const { store } = this.#deps
    // Most gateways have no webhook: that costs one read.
    if ((await store.webhooks.countDeliveries()).size === 0) return
    const taken = await store.transact(async (tx) => {
      const now = await tx.now()
      return tx.webhooks.take(now, now + takenForMs, atOnce)
    })
    // One after the other for each webhook, so that a slow one holds up nobody else.
    const byWebhook = Map.groupBy(taken, ({ webhookId }) => webhookId)
    await Promise.all([...byWebhook].map(([id, deliveries]) => this.#carryTo(id, deliveries)))
  }

  async #carryTo(id: WebhookId, deliveries: readonly WebhookDelivery[]): Promise<void> {
    for (const delivery of deliveries) {
      const webhook = await this.#deps.store.webhooks.get(id)
      // What was put there while it was switched off is not for it.
      if (webhook && webhook.goneAt !== null) await this.#drop(delivery)
      else if (webhook) await this.#attempt(webhook, delivery)
    }
  }

  async #drop({ id }: WebhookDelivery): Promise<void> {
    await this.#deps.store.transact((tx) => tx.webhooks.drop([id]))
  }

  async #attempt(webhook: Webhook, delivery: WebhookDelivery): Promise<void> {
    const { store, send, log } = this.#deps
    const { code, isGone } = await send(webhook, delivery).then(
      (head) => ({ code: failureOf(head), isGone: saysGone(head) }),
      (thrown) => ({ code: toSallyportError(thrown).code, isGone: false }),
    )
    const attempts = delivery.attempts + 1
    const pause = code === undefined || isGone ? undefined : retryAfterMs(attempts)
    const told = { webhook: webhook.name, event: delivery.event, delivery: delivery.id, attempts }
    const isOff = await store.transact(async (tx) => {
      const now = await tx.now()
      // Before what waits for it, in the order of whoever switches it off or removes it.
      await tx.webhooks.noteDelivery({
        ...webhook,
        ...(code === undefined
          ? { lastDeliveredAt: now, lastFailure: null }
          : { lastFailure: { code, at: now } }),
      })
      if (pause !== undefined) {
        await tx.webhooks.retry({ ...delivery, attempts, nextAt: now + pause })
        return false
      }
      const isThere = (await tx.webhooks.drop([delivery.id])) > 0
      // Otherwise it was switched off meanwhile, and somebody may have switched it on since.
      if (isGone && isThere) await tx.webhooks.switchOff(webhook.id, now)
      return isGone && isThere
    })
    if (code === undefined) return
    if (pause !== undefined) log.warn({ ...told, code }, 'webhook not delivered')
    else log.error({ ...told, code }, isOff ? switchedOff : 'webhook given up')
  }
}

/** Undefined when it was delivered. */
export function failureOf({ verdict, code }: ResultHead): ErrorCode | undefined {
  return verdict === 'result' ? code : (code ?? 'not_sent')
}

/** Then it is asked nothing more until somebody says so. */
export function saysGone({ status }: ResultHead): boolean {
  return status === gone
}
