import type { Store, Webhook, WebhookDelivery } from '@sallyport/core'
import { expect, test } from 'vitest'
import { exampleDelivery, exampleWebhook, newId, start } from './examples.ts'
import type { GetSubject } from './subject.ts'

const insert = (store: Store, webhook: Webhook) =>
  store.transact((tx) => tx.webhooks.insert(webhook))
/** With the webhooks they are for. */
const enqueue = (store: Store, ...deliveries: WebhookDelivery[]) =>
  store.transact(async (tx) => {
    for (const { webhookId: id } of deliveries)
      if (!(await tx.webhooks.get(id))) await tx.webhooks.insert(exampleWebhook({ id }))
    await tx.webhooks.enqueue(deliveries)
  })
const take = (store: Store, now: number, limit = 9, until = now + 1000) =>
  store.transact((tx) => tx.webhooks.take(now, until, limit))

export function webhooksContract(subject: GetSubject): void {
  test('gives back webhooks by id and by name', async () => {
    const { store } = subject()
    const b = exampleWebhook({ name: 'b', lastDeliveredAt: start })
    const a = exampleWebhook({
      name: 'a',
      events: [],
      lastFailure: { code: 'http_500', at: start },
    })
    expect(await insert(store, b)).toBe(true)
    expect(await insert(store, a)).toBe(true)
    expect(await store.webhooks.get(a.id)).toEqual(a)
    expect(await store.webhooks.get(newId('webhook'))).toBeUndefined()
    expect(await store.webhooks.list()).toEqual([a, b])
  })

  test('has one webhook of each name, until it is removed', async () => {
    const { store, rival } = subject()
    const webhooks = Array.from({ length: 6 }, () => exampleWebhook({ name: 'pager' }))
    const results = await Promise.all(
      webhooks.map((webhook, i) => insert(i % 2 ? store : rival, webhook)),
    )
    expect(results.filter(Boolean)).toHaveLength(1)
    const winner = webhooks[results.indexOf(true)] as Webhook
    expect(await store.webhooks.list()).toEqual([winner])
    const remove = () => store.transact((tx) => tx.webhooks.remove(winner.id))
    expect([await remove(), await remove()]).toEqual([true, false])
    expect(await insert(store, exampleWebhook({ name: 'pager' }))).toBe(true)
  })

  test('notes how the last delivery went, and nothing else', async () => {
    const { store } = subject()
    const webhook = exampleWebhook()
    await insert(store, webhook)
    const lastFailure = { code: 'nul \0', at: start + 1 }
    const note = (given: Partial<Webhook>) =>
      store.transact((tx) => tx.webhooks.noteDelivery({ ...webhook, ...given }))
    await note({ lastFailure, name: 'other', seal: 'other' })
    expect(await store.webhooks.get(webhook.id)).toEqual({ ...webhook, lastFailure })
    await note({ lastDeliveredAt: start + 2 })
    expect(await store.webhooks.get(webhook.id)).toEqual({ ...webhook, lastDeliveredAt: start + 2 })
    await note({ id: newId('webhook') })
  })
}

export function webhookSwitchContract(subject: GetSubject): void {
  test('switches a webhook off with what waits for it, keeps nothing for it, and switches it on', async () => {
    const { store } = subject()
    const [gone, stays] = [exampleWebhook(), exampleWebhook()]
    for (const webhook of [gone, stays]) await insert(store, webhook)
    const to = ({ id }: Webhook) => exampleDelivery({ webhookId: id })
    const kept = to(stays)
    await enqueue(store, to(gone), kept)
    const off = (at: number) => store.transact((tx) => tx.webhooks.switchOff(gone.id, at))
    await off(start + 1)
    await off(start + 2)
    expect(await store.webhooks.get(gone.id)).toEqual({ ...gone, goneAt: start + 1 })
    expect(await store.webhooks.get(stays.id)).toEqual(stays)
    await enqueue(store, to(gone))
    expect((await take(store, start)).map(({ id }) => id)).toEqual([kept.id])
    await store.transact((tx) => tx.webhooks.noteDelivery({ ...gone, lastDeliveredAt: start }))
    expect(await store.webhooks.get(gone.id)).toMatchObject({ goneAt: start + 1 })
    const on = (id = gone.id) => store.transact((tx) => tx.webhooks.switchOn(id))
    expect([await on(), await on(), await on(newId('webhook'))]).toEqual([true, true, false])
    const next = to(gone)
    await enqueue(store, next)
    expect((await take(store, start)).map(({ id }) => id)).toEqual([next.id])
    await store.transact((tx) => tx.webhooks.switchOff(newId('webhook'), start))
  })
}

export function webhookRemovalContract(subject: GetSubject): void {
  test('removes a webhook with what waits for it, and counts what waits', async () => {
    const { store } = subject()
    const [gone, stays, idle] = [exampleWebhook(), exampleWebhook(), exampleWebhook()]
    for (const webhook of [gone, stays, idle]) await insert(store, webhook)
    const to = ({ id }: Webhook) => exampleDelivery({ webhookId: id })
    const kept = to(stays)
    await enqueue(store, to(gone), kept, to(gone))
    expect(await store.webhooks.countDeliveries()).toEqual(
      new Map([
        [gone.id, 2],
        [stays.id, 1],
        [idle.id, 0],
      ]),
    )
    await store.transact((tx) => tx.webhooks.remove(gone.id))
    expect(await take(store, start, 9, start + 1)).toEqual([{ ...kept, nextAt: start + 1 }])
  })

  test('keeps nothing for a webhook that is gone, also when it goes meanwhile', async () => {
    const { store, rival } = subject()
    for (let i = 0; i < 10; i++) {
      const webhook = exampleWebhook()
      await insert(store, webhook)
      const deliveries = [exampleDelivery({ webhookId: webhook.id }), exampleDelivery()]
      const acts = [
        () => store.transact((tx) => tx.webhooks.enqueue(deliveries)),
        () => rival.transact((tx) => tx.webhooks.remove(webhook.id)),
      ]
      await Promise.all((i % 2 ? acts : acts.toReversed()).map((act) => act()))
    }
    await store.transact((tx) => tx.webhooks.enqueue([]))
    expect(await take(store, start)).toEqual([])
  })
}

export function outboxContract(subject: GetSubject): void {
  test('gives out what is due, the longest due first, until it is told of it again', async () => {
    const { store } = subject()
    const late = exampleDelivery({ nextAt: start + 5, text: '{"text":"nul \0 \ud800"}' })
    const [early, future] = [exampleDelivery(), exampleDelivery({ nextAt: start + 11 })]
    await enqueue(store, future, late, early)
    const until = start + 60
    expect(await take(store, start + 10, 1, until)).toEqual([{ ...early, nextAt: until }])
    expect(await take(store, start + 10, 9, until)).toEqual([{ ...late, nextAt: until }])
    expect(await take(store, start + 10)).toEqual([])
    const again = await take(store, until, 9, until + 60)
    expect(again.map(({ id }) => id)).toEqual([future.id, late.id, early.id])
  })

  test('tries again when it is told to, and drops what was delivered', async () => {
    const { store } = subject()
    const [first, second] = [exampleDelivery(), exampleDelivery()]
    await enqueue(store, first, second)
    await take(store, start)
    const retried = { ...first, attempts: 3, nextAt: start + 5 }
    await store.transact(async (tx) => {
      await tx.webhooks.retry({ ...retried, text: 'other' })
      expect(await tx.webhooks.drop([second.id, newId('delivery')])).toBe(1)
      expect(await tx.webhooks.drop([second.id])).toBe(0)
      expect(await tx.webhooks.drop([])).toBe(0)
    })
    expect(await take(store, start + 9999, 9, start + 10_000)).toEqual([
      { ...retried, nextAt: start + 10_000 },
    ])
  })

  test('takes nothing of a transaction that throws', async () => {
    const { store } = subject()
    const delivery = exampleDelivery()
    await enqueue(store, delivery)
    const work = store.transact(async (tx) => {
      expect(await tx.webhooks.take(start, start + 9, 9)).toHaveLength(1)
      throw new Error('changed my mind')
    })
    await expect(work).rejects.toThrow('changed my mind')
    expect(await take(store, start)).toHaveLength(1)
  })

  test('gives each delivery out once, however many take at once', async () => {
    const { store, rival } = subject()
    const deliveries = Array.from({ length: 60 }, () => exampleDelivery())
    await enqueue(store, ...deliveries)
    const taken: string[] = []
    for (let round = 0; round < 20 && taken.length < deliveries.length; round++) {
      const groups = await Promise.all(
        Array.from({ length: 6 }, (_, i) => take(i % 2 ? store : rival, start, 7)),
      )
      taken.push(...groups.flat().map(({ id }) => id))
    }
    expect(taken.toSorted()).toEqual(deliveries.map(({ id }) => id as string).toSorted())
  })
}
