import { SallyportError, type WebhookId, webhookEvents } from '@sallyport/protocol'
import { newWebhookSecret, openSeal, sealWebhook } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

const sealed = (id: WebhookId, url = 'https://chat.example.com/hook/s3cret', more: object = {}) =>
  sealWebhook({
    url,
    secret: newWebhookSecret(),
    webhookId: id,
    version: 1,
    scope: 'org',
    key: api.key,
    localAllowed: true,
    ...more,
  })

async function create(name = 'chat', more: object = {}) {
  const id = api.deps.ids('webhook')
  const body = { id, name, ...sealed(id), ...more }
  return { id, reply: await api.call('admin', 'webhook.create', { body }) }
}

const list = async () => (await api.call('admin', 'webhook.list')).json.items

test('a webhook is told of everything unless it says of what; where it leads stays sealed', async () => {
  const { id, reply } = await create()
  const chat = {
    id,
    state: 'active',
    name: 'chat',
    host: 'https://chat.example.com:443',
    events: [...webhookEvents],
    createdAt: expect.any(String),
    lastDeliveredAt: null,
    lastFailure: null,
    goneAt: null,
    waiting: 0,
  }
  expect(reply.json).toEqual({ ...chat, plaintext: false })
  await create('alarm', { events: ['execution.unknown'] })
  expect(await list()).toEqual([expect.objectContaining({ name: 'alarm' }), chat])
  expect((await list())[0].events).toEqual(['execution.unknown'])
  expect(JSON.stringify(await list())).not.toContain('s3cret')
})

test('a name and an id are used once', async () => {
  const { id } = await create()
  expect((await create()).reply.json.error).toMatchObject({ code: 'name_taken', field: 'name' })
  const body = { id, name: 'other', ...sealed(id) }
  const again = await api.call('admin', 'webhook.create', { body })
  expect(again.json.error).toMatchObject({ code: 'conflict', field: 'id' })
  expect(await list()).toHaveLength(1)
})

test('a machine that cannot seal sends text, says so, and is told that it was seen', async () => {
  const secret = newWebhookSecret()
  const text = { name: 'robot', url: 'https://chat.example.com/SENTINEL', secret }
  const ask = (body: object) => api.call('admin', 'webhook.create', { body })
  expect((await ask(text)).json.error).toMatchObject({ code: 'plaintext_refused', field: 'url' })
  expect((await ask({ name: 'robot' })).json.error).toMatchObject({ code: 'bad_request' })
  const { url, ...half } = { ...text, allowPlaintext: true }
  expect((await ask(half)).json.error).toMatchObject({ code: 'bad_request', field: 'url' })
  const { json } = await ask({ ...half, url })
  expect(json).toMatchObject({ host: 'https://chat.example.com:443', plaintext: true })
  const webhook = await api.store.webhooks.get(json.id)
  const place = { kind: 'webhook', id: json.id, scope: 'org', version: 1 } as const
  const opened = openSeal(webhook?.seal ?? '', place, [api.key])
  expect(opened).toEqual({ url, secret: secret.replace('whsec_', '') })
  expect(api.log.join('\n')).not.toContain('SENTINEL')
  expect((await create('other')).reply.json).toMatchObject({ plaintext: false })
})

test('a seal of another row, and a place that is our own or not what was sealed, are refused', async () => {
  const other = sealed(api.deps.ids('webhook'))
  expect((await create('a', other)).reply.json.error.code).toBe('seal_other_row')
  const wide = sealed(api.deps.ids('webhook'), undefined, { scope: 'project:x' })
  expect((await create('a', wide)).reply.json.error.code).toBe('seal_other_row')
  const places = [
    { scheme: 'http', host: '127.0.0.1', port: api.port },
    { scheme: 'http', host: 'chat.example.com', port: 80 },
    { scheme: 'https', host: 'CHAT.example.com', port: 443 },
  ]
  for (const clear of places)
    expect((await create('a', { clear })).reply.json.error.code).toBe('bad_url')
  expect(await list()).toEqual([])
})

test('a test is sent once, and what came of it is shown', async () => {
  const { id } = await create()
  const params = { id }
  const fine = await api.call('admin', 'webhook.test', { params })
  expect(fine.json).toMatchObject({ state: 'active', lastDeliveredAt: expect.any(String) })
  const [sent] = api.worker.sent
  expect(sent).toMatchObject({ webhookId: id, scope: 'org', version: 1 })
  expect(sent?.eventId).toMatch(/^dlv_/)
  expect(JSON.parse(sent?.body ?? '')).toEqual({
    type: 'test',
    timestamp: expect.any(String),
    data: {},
  })
  api.worker.answered = { verdict: 'result', code: 'webhook_refused' }
  const bad = await api.call('admin', 'webhook.test', { params })
  expect(bad.json).toMatchObject({
    state: 'failing',
    lastFailure: { code: 'webhook_refused', at: expect.any(String) },
    lastDeliveredAt: fine.json.lastDeliveredAt,
  })
  expect(await list()).toEqual([bad.json])
  expect(api.worker.sent).toHaveLength(2)
})

test('a test that is told that the receiver is gone switches it off; only a person switches it on', async () => {
  const { id } = await create()
  const params = { id }
  api.worker.answered = { verdict: 'result', code: 'webhook_refused', status: 410 }
  const gone = await api.call('admin', 'webhook.test', { params })
  expect(gone.json).toMatchObject({ state: 'off', goneAt: expect.any(String) })
  api.worker.answered = { verdict: 'result', status: 204 }
  const fine = await api.call('admin', 'webhook.test', { params })
  expect(fine.json).toMatchObject({ state: 'off', lastFailure: null, goneAt: gone.json.goneAt })
  for (let n = 0; n < 2; n++) {
    const on = await api.call('admin', 'webhook.enable', { params })
    expect(on.json).toMatchObject({ id, state: 'active', goneAt: null })
  }
  expect(await list()).toMatchObject([{ state: 'active' }])
})

test('without a worker a test says so, and nothing is noted', async () => {
  const { id } = await create()
  api.worker.answered = new SallyportError('worker_down')
  const reply = await api.call('admin', 'webhook.test', { params: { id } })
  expect(reply.json.error.code).toBe('worker_down')
  expect(await list()).toMatchObject([{ state: 'active', lastFailure: null }])
})

test('what waits goes with the webhook', async () => {
  const { id: webhookId } = await create()
  const { id: other } = await create('other')
  const now = Date.now()
  const common = { event: webhookEvents[0], text: '{}', createdAt: now, attempts: 0, nextAt: now }
  await api.store.transact((tx) =>
    tx.webhooks.enqueue(
      [webhookId, webhookId, other].map((to) => ({
        ...common,
        id: api.deps.ids('delivery'),
        webhookId: to,
      })),
    ),
  )
  expect(await list()).toMatchObject([{ waiting: 2 }, { waiting: 1 }])
  const params = { id: webhookId }
  expect((await api.call('admin', 'webhook.remove', { params })).json).toMatchObject({ waiting: 0 })
  expect(await list()).toMatchObject([{ id: other, waiting: 1 }])
  for (const name of ['webhook.enable', 'webhook.remove', 'webhook.test'] as const)
    for (const id of [webhookId, 'whk_1'])
      expect((await api.call('admin', name, { params: { id } })).status).toBe(404)
})
