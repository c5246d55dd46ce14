import { retryAfterMs, type Webhook, type WebhookDelivery } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import type { ResultHead } from '@sallyport/protocol/node'
import { openMemoryStore } from '@sallyport/store'
import { beforeEach, expect, test } from 'vitest'
import {
  exampleDelivery,
  exampleWebhook,
} from '../../../../packages/store/src/contract/examples.ts'
import { Courier } from './courier.ts'

const second = 1000
const hour = 3600 * second
const taken = { verdict: 'result', status: 204 } as unknown as ResultHead
const refused = { verdict: 'result', code: 'upstream_http_5xx' } as unknown as ResultHead

let now: number
let store: ReturnType<typeof openMemoryStore>
let attempts: Pick<WebhookDelivery, 'id' | 'text'>[]
let answer: () => Promise<ResultHead>
let logged: string[]
let webhook: Webhook
let delivery: WebhookDelivery

beforeEach(async () => {
  now = Date.parse('2026-11-30T12:00:00.000Z')
  store = openMemoryStore({ now: () => now })
  attempts = []
  logged = []
  webhook = exampleWebhook()
  delivery = exampleDelivery({ webhookId: webhook.id, attempts: 0, createdAt: now, nextAt: now })
  await store.transact(async (tx) => {
    await tx.webhooks.insert(webhook)
    await tx.webhooks.enqueue([delivery])
  })
})

function courier(): Courier {
  const note = (_fields: object, message: string) => void logged.push(message)
  return new Courier({
    store,
    log: { info: note, warn: note, error: note },
    send: (_webhook, { id, text }) => {
      attempts.push({ id, text })
      return answer()
    },
  })
}

const waiting = async () => (await store.webhooks.countDeliveries()).get(webhook.id) ?? 0

test('what is not taken is tried again as it was, less and less often, and given up after a day', async () => {
  answer = async () => refused
  const began = now
  let before = 0
  for (let n = 1; (await waiting()) > 0; n++) {
    await courier().round()
    expect(attempts).toHaveLength(n)
    const pause = retryAfterMs(n)
    if (pause === undefined) break
    expect(pause).toBeGreaterThanOrEqual(before)
    before = pause
    now += pause - 1
    await courier().round()
    expect(attempts).toHaveLength(n)
    now += 1
  }
  expect(await waiting()).toBe(0)
  expect(now - began).toBeGreaterThan(20 * hour)
  expect(now - began).toBeLessThan(28 * hour)
  const same = { id: delivery.id, text: delivery.text }
  expect(attempts).toEqual(Array(attempts.length).fill(same))
  const failed = Array(attempts.length - 1).fill('webhook not delivered')
  expect(logged).toEqual([...failed, 'webhook given up'])
  const lastFailure = { code: 'upstream_http_5xx', at: now }
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ lastFailure })
})

const statusOf = (status: number) => async () =>
  ({ verdict: 'result', code: 'webhook_refused', status }) as unknown as ResultHead
const another = () => exampleDelivery({ webhookId: webhook.id, createdAt: now, nextAt: now })

test('what a receiver refuses is tried again; one that is gone is asked nothing until it is switched on', async () => {
  answer = statusOf(404)
  await courier().round()
  expect(await waiting()).toBe(1)
  now += 5 * second
  answer = statusOf(410)
  const enqueue = () => store.transact((tx) => tx.webhooks.enqueue([another()]))
  await enqueue()
  await courier().round()
  expect(await waiting()).toBe(0)
  expect(attempts).toHaveLength(2)
  expect(logged).toEqual([
    'webhook not delivered',
    'webhook switched off: its receiver is gone (410); "sallyport webhook enable NAME" when it is back',
  ])
  const lastFailure = { code: 'webhook_refused', at: now }
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ lastFailure, goneAt: now })
  await enqueue()
  now += hour
  await courier().round()
  expect(attempts).toHaveLength(2)
  await store.transact((tx) => tx.webhooks.switchOn(webhook.id))
  answer = async () => taken
  await enqueue()
  await courier().round()
  expect(attempts).toHaveLength(3)
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ lastFailure: null, goneAt: null })
})

test('what is on its way when another gateway finds it gone switches nothing on, and is the last', async () => {
  await store.transact((tx) => tx.webhooks.enqueue([another()]))
  const hung = Promise.withResolvers<ResultHead>()
  answer = () => hung.promise
  const round = courier().round()
  await expect.poll(() => attempts.length).toBe(1)
  await store.transact((tx) => tx.webhooks.switchOff(webhook.id, now))
  hung.resolve(taken)
  await round
  expect(attempts).toHaveLength(1)
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ goneAt: now })
})

test('what was on its way before it was switched on again does not switch it off', async () => {
  const hung = Promise.withResolvers<ResultHead>()
  answer = () => hung.promise
  const round = courier().round()
  await expect.poll(() => attempts.length).toBe(1)
  await store.transact((tx) => tx.webhooks.switchOff(webhook.id, now))
  await store.transact(async (tx) => {
    await tx.webhooks.switchOn(webhook.id)
    await tx.webhooks.enqueue([another()])
  })
  hung.resolve(await statusOf(410)())
  await round
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ goneAt: null })
  expect(await waiting()).toBe(1)
  expect(logged).toEqual(['webhook given up'])
})

test('what was taken is not tried again', async () => {
  answer = async () => taken
  await courier().round()
  expect(await waiting()).toBe(0)
  now += hour
  await courier().round()
  expect(attempts).toHaveLength(1)
  expect(await store.webhooks.get(webhook.id)).toMatchObject({ lastFailure: null })
  expect(logged).toEqual([])
})

test('a worker that is away is a failure like others, and the next attempt is taken', async () => {
  answer = () => Promise.reject(new SallyportError('worker_down'))
  await courier().round()
  expect((await store.webhooks.get(webhook.id))?.lastFailure).toMatchObject({ code: 'worker_down' })
  now += 5 * second - 1
  await courier().round()
  expect(attempts).toHaveLength(1)
  now += 1
  answer = async () => taken
  await courier().round()
  expect(attempts.map(({ id }) => id)).toEqual([delivery.id, delivery.id])
  expect(await waiting()).toBe(0)
})

test('what a gateway has on its way no other one tries, for a minute', async () => {
  const hung = Promise.withResolvers<ResultHead>()
  answer = () => hung.promise
  const first = courier().round()
  await expect.poll(() => attempts.length).toBe(1)
  answer = async () => taken
  now += 60 * second - 1
  await courier().round()
  expect(attempts).toHaveLength(1)
  now += 1
  await courier().round()
  expect(attempts.map(({ id }) => id)).toEqual([delivery.id, delivery.id])
  hung.resolve(taken)
  await first
  expect(await waiting()).toBe(0)
})
