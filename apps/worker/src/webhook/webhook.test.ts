/** Webhooks from the order to a receiver that believes nothing it cannot verify. */
import type { ServerResponse } from 'node:http'
import { release, type WebhookId } from '@sallyport/protocol'
import {
  digestBytes,
  newWebhookSecret,
  type SealPlace,
  seal,
  sealWebhook,
} from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { startUpstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import {
  type ReceiverOptions,
  WebhookReceiver,
  webhookProblem,
} from '../../../../tests/upstreams/webhook-receiver.ts'
import { Bench } from '../testing/bench.ts'
import type { Answer, OrderOptions, SealedConnection } from '../testing/scripted-gateway.ts'
import { serverCertificate } from '../testing/server-certificate.ts'
import type { WorkerParts } from '../worker.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

const secret = newWebhookSecret()
const body = '{"type":"approval.requested","data":{"id":"apr_1"}}'
const eventId = 'dlv_0123456789abcdefghjkmnpqrs'
const webhookId = 'whk_0123456789abcdefghjkmnpqrs' as WebhookId

async function receive(options: Partial<ReceiverOptions> = {}): Promise<WebhookReceiver> {
  const receiver = await WebhookReceiver.start({ secret, ...options })
  open.push(receiver)
  return receiver
}

async function start(parts: Partial<WorkerParts> = {}): Promise<Bench> {
  const bench = await Bench.start({ url: 'http://127.0.0.1:1/mcp' }, parts)
  open.push({ close: () => bench.stop() })
  return bench
}

interface ToSeal {
  readonly url: string
  readonly secret?: string
  readonly version?: number
}

/** As a gateway stores it. */
function sealed(bench: Bench, { url, version = 1, ...more }: ToSeal): SealedConnection {
  const { key } = bench.worker
  const scope = 'org'
  const input = { url, secret, webhookId, version, scope, key, localAllowed: true, ...more }
  const { seal: endpoint, clear: endpointClear } = sealWebhook(input)
  const claims = { webhookId, webhookVersion: version, scope, endpointClear }
  return {
    claims: { ...claims, endpointDigest: digestBytes(endpoint) } as never,
    endpoint,
    credential: undefined,
  }
}

async function deliver(
  { gateway }: Bench,
  webhook: SealedConnection,
  text: string | Buffer = body,
  claims: OrderOptions['claims'] = {},
): Promise<Answer> {
  const order = gateway.compose({
    connection: webhook,
    claims: {
      act: 'webhook',
      eventId,
      argumentsDigest: digestBytes(text),
      limits: undefined,
      ...claims,
    },
  })
  const batch = gateway.sendIntents([order])
  gateway.sendBody(order, webhook, Buffer.from(text))
  gateway.commit(batch)
  return await gateway.result(order.id)
}

test('a webhook arrives signed, with the id of its event and the time of the attempt', async () => {
  const receiver = await receive()
  const bench = await start()
  const { head, raw } = await deliver(bench, sealed(bench, receiver))
  expect(head).toEqual({
    intent: expect.any(String),
    verdict: 'result',
    status: 204,
    tookMs: expect.any(Number),
  })
  expect(raw).toHaveLength(0)
  const [received] = receiver.received
  expect(receiver.received).toHaveLength(1)
  expect(received).toMatchObject({ method: 'POST', url: '/hook?room=7', body })
  expect(received?.problem).toBeUndefined()
  expect(received?.headers).toEqual({
    host: `127.0.0.1:${receiver.port}`,
    connection: 'keep-alive',
    'content-type': 'application/json',
    'content-length': String(body.length),
    'user-agent': `sallyport/${release}`,
    'webhook-id': eventId,
    'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
    'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
  })
})

test('over TLS, to a receiver with a certificate, and to no other', async () => {
  const tls = serverCertificate('IP:127.0.0.1')
  const receiver = await receive({ tls })
  const trusting = await start({ upstreamAuthorities: [tls.cert] })
  expect((await deliver(trusting, sealed(trusting, receiver))).head.verdict).toBe('result')
  expect(receiver.received).toMatchObject([{ body, problem: undefined }])
  const other = await start()
  expect((await deliver(other, sealed(other, receiver))).head).toMatchObject({
    verdict: 'not_sent',
    code: 'upstream_tls',
  })
  expect(receiver.received).toHaveLength(1)
})

test('what was changed, or is old, is not believed', async () => {
  const receiver = await receive()
  const bench = await start()
  await deliver(bench, sealed(bench, receiver))
  const headers = receiver.received[0]?.headers ?? {}
  const judge = (changed: object, text = body, now = Date.now(), by = secret) =>
    webhookProblem(by, { ...headers, ...changed }, text, now)
  expect(judge({})).toBeUndefined()
  // The same bytes, sent again by somebody who overheard them.
  expect(judge({}, body, Date.now() + 6 * 60_000)).toBe('timestamp')
  const later = String(Number(headers['webhook-timestamp']) + 360)
  expect(judge({ 'webhook-timestamp': later }, body, Date.now() + 6 * 60_000)).toBe('signature')
  expect(judge({}, body.replace('requested', 'approved'))).toBe('signature')
  expect(judge({ 'webhook-id': 'dlv_other' })).toBe('signature')
  expect(judge({}, body, Date.now(), newWebhookSecret())).toBe('signature')
})

test('another attempt has the same id, and is signed for its own time', async () => {
  const receiver = await receive()
  const bench = await start()
  const webhook = sealed(bench, receiver)
  for (let attempt = 0; attempt < 2; attempt++) await deliver(bench, webhook)
  expect(receiver.received.map(({ problem }) => problem)).toEqual([undefined, undefined])
  expect(receiver.received.map(({ headers }) => headers['webhook-id'])).toEqual([eventId, eventId])
})

type AnswerRow = [what: string, answer: (response: ServerResponse) => void, told: object]

const statuses: [status: number, told: object][] = [
  ...[200, 202, 299].map((status) => [status, { verdict: 'result' }] as [number, object]),
  ...[300, 400, 401, 404, 410, 421].map(
    (status) => [status, { verdict: 'result', code: 'webhook_refused' }] as [number, object],
  ),
  [429, { verdict: 'uncertain', code: 'upstream_rate_limited' }],
  ...[500, 502, 503, 504].map(
    (status) => [status, { verdict: 'uncertain', code: 'upstream_http_5xx' }] as [number, object],
  ),
]

const answers: AnswerRow[] = [
  ...statuses.map(
    ([status, told]): AnswerRow => [
      String(status),
      (response) => response.writeHead(status).end('so be it'),
      { code: undefined, status, ...told },
    ],
  ),
  [
    'a cut before an answer',
    (response) => response.socket?.destroy(),
    { verdict: 'uncertain', code: 'upstream_unreachable' },
  ],
  ['no HTTP', (response) => response.socket?.end('hello\r\n\r\n'), { verdict: 'uncertain' }],
  [
    'a cut behind the status',
    (response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half')
      setImmediate(() => response.socket?.destroy())
    },
    { verdict: 'result', status: 200, code: undefined },
  ],
  [
    'a compressed answer',
    (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('not even gzip'),
    { verdict: 'result', status: 200, code: undefined },
  ],
  [
    'an answer without end',
    (response) => {
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'.repeat(16_384)), 1)
      response.once('close', () => clearInterval(timer))
    },
    { verdict: 'result', status: 200, code: undefined },
  ],
]

test.each(answers)('%s: told as it is, and sent once', async (_what, answer, told) => {
  const receiver = await receive()
  receiver.answer = answer
  const bench = await start()
  const { head, raw } = await deliver(bench, sealed(bench, receiver))
  expect({ status: undefined, code: undefined, ...head }).toMatchObject(told)
  expect(raw).toHaveLength(0)
  expect(receiver.received).toHaveLength(1)
})

test('a redirect is not followed', async () => {
  const elsewhere = await receive()
  const receiver = await receive()
  for (const status of [301, 302, 303, 307, 308]) {
    receiver.answer = (response) => response.writeHead(status, { location: elsewhere.url }).end()
    const bench = await start()
    const { head } = await deliver(bench, sealed(bench, receiver))
    expect(head).toMatchObject({ verdict: 'result', code: 'webhook_refused', status })
  }
  expect(receiver.received).toHaveLength(5)
  expect(elsewhere.received).toEqual([])
})

const notSent = (code: string) => ({ verdict: 'not_sent', code })

test('nothing is sent to a listener of our own', async () => {
  const receiver = await receive()
  const bench = await start()
  const ownListeners = [{ host: '127.0.0.1', port: receiver.port }]
  const owner = await bench.worker.gateway({ hello: { ownListeners } })
  const webhook = sealed(bench, receiver)
  expect((await deliver(bench, webhook)).head).toMatchObject(notSent('upstream_blocked_address'))
  expect(receiver.received).toEqual([])
  // The control: when that gateway is gone, nothing of ours listens there.
  owner.cut()
  await expect.poll(() => bench.worker.log).toContain('gateway_disconnected')
  expect((await deliver(bench, webhook)).head.verdict).toBe('result')
})

test('without permission nothing is sent to this machine', async () => {
  const tls = serverCertificate('IP:127.0.0.1')
  const [plain, secured] = [await receive(), await receive({ tls })]
  const bench = await start({ allowLocalUpstreams: false, upstreamAuthorities: [tls.cert] })
  const codes = ['local_upstreams_off', 'upstream_blocked_address']
  for (const [index, receiver] of [plain, secured].entries()) {
    const { head } = await deliver(bench, sealed(bench, receiver))
    expect(head).toMatchObject(notSent(codes[index] as string))
    expect(receiver.received).toEqual([])
  }
})

test.each([
  ['https://10.0.0.1/hook', 'upstream_blocked_address'],
  ['https://169.254.169.254/latest/', 'upstream_blocked_address'],
  ['https://[fd00::1]/hook', 'upstream_blocked_address'],
  ['http://127.0.0.1:2/hook', 'upstream_unreachable'],
])('%s: nothing was sent (%s)', async (url, code) => {
  const bench = await start()
  expect((await deliver(bench, sealed(bench, { url }))).head).toMatchObject(notSent(code))
})

test.each<[string, string | Buffer, OrderOptions['claims'], string | undefined]>([
  ['64 KiB', JSON.stringify('x'.repeat(65_534)), {}, undefined],
  ['more than 64 KiB', JSON.stringify('x'.repeat(65_535)), {}, 'too_large'],
  ['no JSON', 'hello', {}, 'bad_request'],
  ['nothing', '', {}, 'bad_request'],
  ['no UTF-8', Buffer.from([34, 0xff, 34]), {}, 'bad_request'],
  [
    'another body than the one in the order',
    body,
    { argumentsDigest: digestBytes('{}') },
    'intent_refused',
  ],
  ['an event id that would forge what is signed', body, { eventId: 'a.1' }, 'intent_refused'],
  ['no event id', body, { eventId: undefined }, 'intent_refused'],
  ['the name of a tool', body, { tool: 'echo' }, 'intent_refused'],
])('a body of %s', async (_what, text, claims, code) => {
  const receiver = await receive()
  const bench = await start()
  const { head } = await deliver(bench, sealed(bench, receiver), text, claims)
  expect(head).toMatchObject(code ? notSent(code) : { verdict: 'result' })
  expect(receiver.received).toHaveLength(code ? 0 : 1)
})

const other = 'whk_00000000000000000000000000'

test.each([
  ['another webhook', { webhookId: other }, 'seal_other_row'],
  ['another version', { webhookVersion: 2 }, 'seal_other_version'],
  ['another scope', { scope: 'personal:usr_1' }, 'seal_other_scope'],
  [
    'another host than is shown',
    { endpointClear: { scheme: 'http', host: 'h', port: 1 } },
    'seal_mismatch',
  ],
] as const)('the seal of %s is refused', async (_what, claims, code) => {
  const receiver = await receive()
  const bench = await start()
  const webhook = sealed(bench, receiver)
  expect((await deliver(bench, webhook, body, claims)).head).toMatchObject(notSent(code))
  expect(receiver.received).toEqual([])
  expect((await deliver(bench, webhook)).head.verdict).toBe('result')
})

test.each([
  [
    'a URL with a name in it',
    { url: 'https://a:b@example.com/', secret: 'A'.repeat(32) },
    'bad_url',
  ],
  ['a short secret', { url: 'https://example.com/', secret: 'AAAA' }, 'bad_secret'],
  ['no secret', { url: 'https://example.com/' }, 'seal_unreadable'],
  ['no URL', { secret: 'A'.repeat(32) }, 'seal_unreadable'],
  ['nothing', null, 'seal_unreadable'],
] as const)(
  'a seal that holds %s is refused, whoever sealed it',
  async (_what, plaintext, code) => {
    const bench = await start()
    const place: SealPlace = { kind: 'webhook', id: webhookId, scope: 'org', version: 1 }
    const endpoint = seal(plaintext, place, bench.worker.key)
    const { claims } = sealed(bench, { url: 'https://example.com/' })
    const forged = { ...claims, endpointDigest: digestBytes(endpoint) }
    const webhook = { claims: forged, endpoint, credential: undefined }
    expect((await deliver(bench, webhook)).head).toMatchObject(notSent(code))
  },
)

test('the seal of a connection sends no webhook, that of a webhook calls no tool', async () => {
  const upstream = await startUpstream()
  open.push(upstream)
  const bench = await Bench.start({ url: upstream.url })
  open.push({ close: () => bench.stop() })
  const { connectionId, scope, endpointClear, endpointDigest } = bench.connection.claims
  const asWebhook = { webhookId: connectionId, webhookVersion: 1, scope, endpointClear }
  const webhook = { ...bench.connection, claims: { ...asWebhook, endpointDigest } as never }
  expect((await deliver(bench, webhook)).head).toMatchObject(notSent('seal_other_column'))
  const sealedHook = sealed(bench, { url: upstream.url })
  const connection = {
    ...sealedHook,
    claims: {
      ...bench.connection.claims,
      connectionId: webhookId,
      endpointDigest: digestBytes(sealedHook.endpoint),
    },
  }
  const { head } = await bench.gateway.order({ connection })
  expect(head).toMatchObject(notSent('seal_other_column'))
  expect(upstream.requests).toEqual([])
  expect((await bench.gateway.order({ connection: bench.connection })).head.verdict).toBe('result')
})

test('its secret is in no frame, no header, no log line and no error', async () => {
  const receiver = await receive()
  const bench = await start()
  await deliver(bench, sealed(bench, receiver))
  await deliver(bench, sealed(bench, { ...receiver, url: 'http://127.0.0.1:2/hook?room=7' }))
  receiver.answer = (response) => response.writeHead(500).end()
  await deliver(bench, sealed(bench, receiver))
  const said = [
    bench.worker.log,
    ...bench.gateway.frames.map(({ head, raw }) => JSON.stringify(head) + raw.toString('latin1')),
    ...receiver.received.map(({ headers }) => JSON.stringify(headers)),
  ].join('\n')
  const key = secret.slice('whsec_'.length)
  const bytes = Buffer.from(key, 'base64')
  for (const form of [key, key.slice(0, 16), bytes.toString('hex'), bytes.toString('base64url')])
    expect(said).not.toContain(form)
  expect(said).toContain('upstream_http_5xx')
  // Nor is the rest of the address, which may hold a token.
  expect(bench.worker.log).not.toContain('room=7')
})
