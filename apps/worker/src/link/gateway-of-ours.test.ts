/** What this worker and the gateway's own link say to each other: both sides as they are. */
import { randomBytes } from 'node:crypto'
import type { Order } from '@sallyport/core'
import { type IntentId, idSource } from '@sallyport/protocol'
import {
  digestBytes,
  type Hello,
  newWebhookSecret,
  type ResultHead,
  sealWebhook,
} from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { startUpstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import { WebhookReceiver } from '../../../../tests/upstreams/webhook-receiver.ts'
import { LinkedWorkerAdmin } from '../../../gateway/src/worker/admin.ts'
import { systemClock } from '../../../gateway/src/worker/clock.ts'
import { WorkerLink } from '../../../gateway/src/worker/link.ts'
import { Bench } from '../testing/bench.ts'
import { authority, identity } from '../testing/worker-under-test.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const ids = idSource(Date.now, randomBytes)

async function start(url: string) {
  const bench = await Bench.start({ url })
  open.push({ close: () => bench.stop() })
  const { hello } = bench.gateway
  const told: (readonly [kind: 'result' | 'late', head: ResultHead])[] = []
  const nothing = { info() {}, warn() {}, error() {} }
  const link = new WorkerLink({
    address: { path: bench.worker.path },
    identity: () => ({ ...identity('gateway'), authorityPem: authority.certificatePem }),
    clock: systemClock,
    hello: (): Hello => ({ ...hello, role: 'gateway', instance: ids('instance'), now: Date.now() }),
    log: nothing,
  })
  open.push({ close: () => link.stop() })
  link.start({
    result: (head) => told.push(['result', head]),
    late: (head) => told.push(['late', head]),
    progress: () => {},
    observed: () => {},
    lost: () => {},
    up: () => {},
  })
  await link.whenUp(5_000)
  const linked = { link, ids, now: Date.now, supervised: () => null }
  const admin = new LinkedWorkerAdmin({ ...linked, certificateExpiresAt: () => 0 })
  return { bench, link, admin, told }
}

test('a webhook that the gateway sends arrives, at each attempt', async () => {
  const secret = newWebhookSecret()
  const receiver = await WebhookReceiver.start({ secret })
  open.push(receiver)
  const { bench, link, admin } = await start('http://127.0.0.1:1/mcp')
  const webhookId = ids('webhook')
  const place = { webhookId, version: 1, scope: 'org' }
  const key = link.state().hello?.vault
  if (!key) throw new Error('no vault key')
  const sealed = sealWebhook({ ...place, url: receiver.url, secret, key, localAllowed: true })
  const eventId = ids('delivery')
  const body = JSON.stringify({ type: 'approval.requested', data: { by: 'Zoë' } })
  const webhook = { ...place, ...sealed, eventId, body }
  receiver.answer = (response) => response.writeHead(503).end()
  expect(await admin.sendWebhook(webhook)).toMatchObject({ verdict: 'uncertain', status: 503 })
  receiver.answer = (response) => response.writeHead(200).end()
  expect(await admin.sendWebhook(webhook)).toMatchObject({ verdict: 'result', status: 200 })
  expect(receiver.received).toMatchObject([
    { problem: undefined, body, headers: { 'webhook-id': eventId } },
    { problem: undefined, body, headers: { 'webhook-id': eventId } },
  ])
  expect(bench.worker.log).not.toContain(secret.slice(6))
})

test('a late answer reaches the gateway behind the verdict', async () => {
  const upstream = await startUpstream()
  open.push(upstream)
  const { bench, link, told } = await start(upstream.url)
  await bench.review()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const limits = { resultBytes: 1_000, callMs: 100, verifyWithinMs: 300_000 }
  const { id, text, body } = bench.gateway.compose(
    bench.order('counter_add', { by: 1 }, { access: 'write', limits }),
  )
  const order: Order = {
    id: id as IntentId,
    text,
    digest: digestBytes(text),
    endpointSeal: bench.connection.endpoint,
    credentialSeal: undefined,
    argumentsText: body.toString(),
  }
  link.send([order]).commit([0])
  await expect.poll(() => told.length).toBe(1)
  link.settled([order.id])
  upstream.answerHeld()
  await expect.poll(() => told.length).toBe(2)
  expect(told).toMatchObject([
    ['result', { intent: id, verdict: 'uncertain', code: 'upstream_timeout' }],
    ['late', { intent: id, verdict: 'result', status: 200 }],
  ])
})
