/** Two gateways at one webhook, with real locks. */
import type { Store, Tx } from '@sallyport/core'
import type { ResultHead } from '@sallyport/protocol/node'
import { openPostgresStore } from '@sallyport/store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  exampleDelivery,
  exampleWebhook,
} from '../../../../packages/store/src/contract/examples.ts'
import { type RunningPostgres, startPostgres } from '../../../../tests/postgres/start-postgres.ts'
import { Courier } from './courier.ts'

let postgres: RunningPostgres
let store: Store
let rival: Store

beforeAll(async () => {
  postgres = await startPostgres()
  const open = () => openPostgresStore({ url: postgres.url })
  store = await open()
  rival = await open()
})
afterAll(async () => {
  await Promise.all([store?.close(), rival?.close()])
  await postgres?.stop()
})

test.each([
  ['was taken', { verdict: 'result', status: 204 }, 0],
  ['is tried again', { verdict: 'result', code: 'webhook_refused', status: 500 }, 1],
])(
  'what %s is noted behind whoever ends all that waits for the webhook, and not in the way',
  async (_, head, waiting) => {
    const webhook = exampleWebhook()
    const delivery = exampleDelivery({ webhookId: webhook.id, nextAt: 0 })
    await store.transact(async (tx) => {
      await tx.webhooks.insert(webhook)
      await tx.webhooks.enqueue([delivery])
    })
    const noting = Promise.withResolvers<void>()
    /** Says when the row of the webhook is asked for. */
    const transact: Store['transact'] = (work, options) =>
      store.transact((tx) => {
        const { webhooks } = tx
        const { noteDelivery } = webhooks
        webhooks.noteDelivery = (noted) => {
          noting.resolve()
          return noteDelivery.call(webhooks, noted)
        }
        return work({ now: () => tx.now(), webhooks } as Tx)
      }, options)
    const note = () => undefined
    const courier = new Courier({
      store: { ...store, transact },
      send: async () => head as unknown as ResultHead,
      log: { info: note, warn: note, error: note },
    })
    let round: Promise<void> | undefined
    // The two rows in the order of `switchOff` and `remove`, with a pause between.
    await rival.transact(async (tx) => {
      await tx.webhooks.noteDelivery(webhook)
      round = courier.round()
      await noting.promise
      await tx.webhooks.retry({ ...delivery, nextAt: 1 })
    })
    await round
    expect((await store.webhooks.countDeliveries()).get(webhook.id)).toBe(waiting)
  },
)
