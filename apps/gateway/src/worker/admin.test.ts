import { createHash } from 'node:crypto'
import type { Connection, Credential, Order, Scope } from '@sallyport/core'
import type { ConnectionId, CredentialId, IntentId, WebhookId } from '@sallyport/protocol'
import { type ProcessWalls, type ResultHead, readProcessWalls } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { LinkedWorkerAdmin, type SupervisedWorker } from './admin.ts'
import { helloOf } from './scripted-worker.ts'

const sha256 = (text: string) => `sha256:${createHash('sha256').update(text).digest('hex')}`

const connection: Connection = {
  id: 'con_1' as ConnectionId,
  name: 'counter',
  scope: 'org' as Scope,
  ownerId: null,
  transport: 'http',
  state: 'draft',
  revision: 3,
  version: 7,
  required: false,
  limits: { callMs: 1_000, resultBytes: 1_024 },
  endpointSeal: 'sealed endpoint',
  endpointClear: { scheme: 'https', host: 'example.org', port: 443 },
  credentialId: 'crd_1' as CredentialId,
  publishedId: null,
  everEnabled: false,
  health: { state: 'unknown', code: null, at: null },
  createdAt: 0,
  updatedAt: 0,
}

const credential: Credential = {
  id: 'crd_1' as CredentialId,
  connectionId: connection.id,
  version: 2,
  state: 'active',
  seal: 'sealed credential',
  clear: { bearer: true, headerNames: ['X-Key'] },
  createdAt: 0,
  updatedAt: 0,
}

function adminOf(
  answer: Partial<ResultHead>,
  raw = '',
  { supervised = null, walls }: { supervised?: SupervisedWorker | null; walls?: ProcessWalls } = {},
) {
  const orders: { order: Order; ms: number }[] = []
  const released: string[] = []
  let isUp = true
  const hello = helloOf(walls ? { walls } : {})
  const admin = new LinkedWorkerAdmin({
    link: {
      instance: () => (isUp ? 'worker-1' : undefined),
      state: () => ({ hello: isUp ? hello : null, code: null }),
      release: (id) => released.push(id),
      order: async (order, ms) => {
        orders.push({ order, ms })
        const head: ResultHead = { intent: order.id, verdict: 'result', ...answer }
        return { head, raw: Buffer.from(raw) }
      },
    },
    ids: (kind) => `${kind}_1` as never,
    now: () => 1_000,
    supervised: () => supervised,
    certificateExpiresAt: () => 5,
  })
  const goDown = () => {
    isUp = false
  }
  return { admin, orders, released, goDown }
}

test('orders a listing with the claims of the connection and its credential', async () => {
  const { admin, orders } = adminOf({}, '{"tools":[],"era":"modern"}')
  expect(await admin.list(connection, credential)).toEqual({ tools: [], era: 'modern' })
  const [{ order, ms } = { order: undefined, ms: 0 }] = orders
  expect(JSON.parse(order?.text ?? '')).toEqual({
    v: 1,
    id: 'intent_1',
    iat: 1_000,
    exp: 16_000,
    startWithin: 15_000,
    aud: 'worker-1',
    act: 'list',
    connectionId: 'con_1',
    connectionRevision: 3,
    scope: 'org',
    endpointDigest: sha256('sealed endpoint'),
    endpointClear: { scheme: 'https', host: 'example.org', port: 443 },
    credentialId: 'crd_1',
    credentialVersion: 2,
    credentialDigest: sha256('sealed credential'),
    credentialClear: { bearer: true, headerNames: ['X-Key'] },
    limits: { resultBytes: 8_388_608, callMs: 30_000, verifyWithinMs: 0 },
  })
  expect(order).toEqual({
    id: 'intent_1' as IntentId,
    text: order?.text,
    digest: sha256(order?.text ?? ''),
    endpointSeal: 'sealed endpoint',
    credentialSeal: 'sealed credential',
    argumentsText: '',
  })
  expect(ms).toBe(50_000)
})

test('whoever asks for the same listing while it is under way joins', async () => {
  const { admin, orders } = adminOf({}, '{"tools":[]}')
  const same = [admin.list(connection, credential), admin.list(connection, credential)]
  const others = [
    admin.list({ ...connection, revision: 4 }, credential),
    admin.list(connection, { ...credential, version: 3 }),
    admin.list(connection, undefined),
  ]
  expect(orders).toHaveLength(4)
  expect(await Promise.all(same)).toEqual([{ tools: [] }, { tools: [] }])
  await Promise.all(others)
  await admin.list(connection, credential)
  expect(orders).toHaveLength(5)
})

test('orders a listing without a credential', async () => {
  const { admin, orders } = adminOf({}, '{}')
  await admin.list(connection, undefined)
  expect(orders[0]?.order.credentialSeal).toBeUndefined()
  expect(orders[0]?.order.text).not.toContain('credential')
})

test.each<[string, Partial<ResultHead>, string]>([
  [
    'what the worker proved not sent',
    { verdict: 'not_sent', code: 'upstream_dns' },
    'upstream_dns',
  ],
  ['what it does not know', { verdict: 'uncertain', code: 'upstream_timeout' }, 'upstream_timeout'],
  ['a known failure', { code: 'too_many_tools' }, 'too_many_tools'],
  ['a listing over the limit', { withheld: 'too_large' }, 'upstream_too_large'],
  ['a listing with the credential in it', { withheld: 'credential' }, 'credential_in_result'],
])('tells %s by its code', async (_what, answer, code) => {
  const { admin } = adminOf(answer)
  await expect(admin.list(connection, credential)).rejects.toMatchObject({ code })
})

test('refuses to list a connection that has no endpoint', async () => {
  const { admin, orders } = adminOf({}, '{}')
  const person: Connection = { ...connection, endpointSeal: null, endpointClear: null }
  await expect(admin.list(person, undefined)).rejects.toMatchObject({
    code: 'transport_not_available',
  })
  expect(orders).toEqual([])
})

test('shows the worker that is there, and its vault key', () => {
  const { admin, released } = adminOf({})
  expect(admin.info()).toEqual({
    state: 'up',
    instance: 'worker-1',
    release: '0.1.0',
    build: 'test',
    pid: process.pid,
    coreDumps: 'off',
    isolation: null,
    certificateExpiresAt: 5,
  })
  admin.release(connection.id)
  expect(released).toEqual(['con_1'])
})

test('shows the worker of this gateway by the number it has here, and by what it finds around itself', () => {
  const walls: ProcessWalls = { ...readProcessWalls(), nodePermission: true, variables: 2 }
  const supervised = { instance: 'worker-1', pid: 7, unisolatedBecause: ['There is none.'] }
  const { admin } = adminOf({}, '', { supervised, walls })
  expect(admin.info()).toMatchObject({
    pid: 7,
    isolation: {
      layers: { files: 'off', permission: 'on', environment: 'off' },
      because: ['There is none.'],
    },
  })
  const other = adminOf({}, '', { supervised: { ...supervised, instance: 'another' }, walls })
  expect(other.admin.info()).toMatchObject({ pid: process.pid, isolation: { because: [] } })
})

test('says that the worker is down', async () => {
  const { admin, goDown } = adminOf({}, '{}')
  goDown()
  expect(admin.info()).toEqual({
    state: 'down',
    instance: null,
    release: null,
    build: null,
    pid: null,
    coreDumps: null,
    isolation: null,
    certificateExpiresAt: 5,
  })
  await expect(admin.list(connection, undefined)).rejects.toMatchObject({ code: 'worker_down' })
})

const webhook = {
  webhookId: 'whk_1' as WebhookId,
  version: 1,
  scope: 'org',
  seal: 'sealed webhook',
  clear: { scheme: 'https', host: 'example.org', port: 443 },
  eventId: 'dlv_1',
  body: '{"type":"approval.requested"}',
} as const

test('orders one attempt to deliver a webhook', async () => {
  const { admin, orders } = adminOf({ status: 204 })
  expect(await admin.sendWebhook(webhook)).toEqual({
    intent: 'intent_1',
    verdict: 'result',
    status: 204,
  })
  const [{ order, ms } = { order: undefined, ms: 0 }] = orders
  expect(JSON.parse(order?.text ?? '')).toEqual({
    v: 1,
    id: 'intent_1',
    iat: 1_000,
    exp: 16_000,
    startWithin: 15_000,
    aud: 'worker-1',
    act: 'webhook',
    scope: 'org',
    endpointDigest: sha256('sealed webhook'),
    endpointClear: { scheme: 'https', host: 'example.org', port: 443 },
    webhookId: 'whk_1',
    webhookVersion: 1,
    eventId: 'dlv_1',
    argumentsDigest: sha256(webhook.body),
  })
  expect(order).toEqual({
    id: 'intent_1' as IntentId,
    text: order?.text,
    digest: sha256(order?.text ?? ''),
    endpointSeal: 'sealed webhook',
    credentialSeal: undefined,
    argumentsText: webhook.body,
  })
  expect(ms).toBe(30_000)
})

test.each<[Partial<ResultHead>]>([
  [{ verdict: 'not_sent', code: 'upstream_dns' }],
  [{ verdict: 'uncertain', code: 'upstream_timeout' }],
  [{ code: 'webhook_refused', status: 410 }],
])('hands on what became of a webhook: %j', async (answer) => {
  expect(await adminOf(answer).admin.sendWebhook(webhook)).toMatchObject(answer)
})

test('orders no webhook over 64 KiB, and none without a worker', async () => {
  const { admin, orders, goDown } = adminOf({})
  const body = (bytes: number) => JSON.stringify('é'.repeat((bytes - 2) / 2))
  await expect(admin.sendWebhook({ ...webhook, body: body(65_538) })).rejects.toMatchObject({
    code: 'too_large',
  })
  expect(orders).toEqual([])
  await admin.sendWebhook({ ...webhook, body: body(65_536) })
  expect(orders).toHaveLength(1)
  goDown()
  await expect(admin.sendWebhook(webhook)).rejects.toMatchObject({ code: 'worker_down' })
})
