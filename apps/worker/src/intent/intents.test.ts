/** What the worker refuses to act on. Every refusal has a control beside it that succeeds. */
import { createAuthority, encodeFrame, issueCertificate } from '@sallyport/protocol/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startUpstream, type Upstream } from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'
import type { Composed, ScriptedGateway } from '../testing/scripted-gateway.ts'
import { authority, identity } from '../testing/worker-under-test.ts'

let upstream: Upstream
let bench: Bench
beforeAll(async () => {
  upstream = await startUpstream({ bearer: 'token-1234567890' })
  bench = await Bench.start({ url: upstream.url, token: 'token-1234567890' })
  await bench.review()
})
afterAll(async () => {
  await bench.stop()
  await upstream.close()
})

/** The control: the same order, as it should be, is acted on once. */
afterEach(async () => {
  const before = upstream.count('tools/call')
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
  expect(upstream.count('tools/call')).toBe(before + 1)
})

const connect = (options: Parameters<typeof bench.worker.gateway>[0]) =>
  bench.worker.gateway(options)

test('refuses a peer without a certificate', async () => {
  const nobody = { certificatePem: '', privateKeyPem: '' }
  await expect(connect({ identity: nobody })).rejects.toThrow()
})

test('refuses a certificate of another authority', async () => {
  const issuer = createAuthority({ commonName: 'tests', days: 1 })
  await expect(connect({ identity: identity('gateway', { issuer }) })).rejects.toThrow()
  await expect(connect({ identity: identity('gateway') })).resolves.toBeDefined()
})

test.each(['operator', 'worker'] as const)('refuses the role %s', async (role) => {
  await expect(connect({ identity: identity(role) })).rejects.toThrow()
})

test('refuses an expired certificate', async () => {
  await expect(connect({ identity: identity('gateway', { days: -1 }) })).rejects.toThrow()
})

test.each([
  ['a clock that is six seconds off', () => ({ now: Date.now() - 6_000 }), 'clock_skew'],
  ['a clock that is six seconds ahead', () => ({ now: Date.now() + 6_000 }), 'clock_skew'],
  ['no clock', () => ({ now: 'now' as unknown as number }), 'clock_skew'],
  ['a clock that makes no number', () => ({ now: { toString: 1 } as never }), 'clock_skew'],
  ['another release', () => ({ release: '0.0.9' }), 'wrong_release'],
  ['another wire', () => ({ wire: 2 }), 'wrong_release'],
] as const)('says why it refuses %s, and closes', async (_what, hello, refused) => {
  const gateway = await connect({ hello: hello() })
  expect(gateway.hello.refused).toBe(refused)
  await gateway.until(() => gateway.isClosed)
})

test('a clock that is four seconds off passes', async () => {
  const gateway = await connect({ hello: { now: Date.now() - 4_000 } })
  expect(gateway.hello.refused).toBeUndefined()
})

test('a peer that does not begin with hello, or sends no frames, is closed', async () => {
  await expect(connect({ hello: { role: 'worker' } })).rejects.toThrow()
  const gateway = await connect({})
  gateway.sendBytes(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
  await gateway.until(() => gateway.isClosed)
})

test('a frame over the limit ends the connection', async () => {
  const gateway = await connect({})
  const prefix = Buffer.alloc(9)
  prefix.writeUInt32BE(32 * 1024 * 1024 + 1)
  gateway.sendBytes(prefix)
  await gateway.until(() => gateway.isClosed)
})

test('frames that only a worker sends, and heads that are none, end the connection', async () => {
  for (const [kind, head] of [
    ['observed', {}],
    ['intents', null],
    ['intents', { batch: 'x', jws: 'y' }],
    ['recover', {}],
    ['recover', { intents: [{ id: 'x'.repeat(1_000), iat: 1, aud: 'w' }] }],
    ['committed', null],
    ['committed', { batch: `sha256:${'0'.repeat(64)}`, admitted: 'all' }],
    ['body', { intent: 'int_1', endpoint: 7 }],
    ['body', { intent: 'int_1', credential: null }],
    ['ping', null],
    ['ping', { n: 'seven' }],
  ] as const) {
    const gateway = await connect({})
    gateway.send(kind, head)
    await gateway.until(() => gateway.isClosed)
    expect(gateway.frames.map((frame) => frame.kind)).toEqual(['hello'])
  }
})

test('a ping that is nested without end ends its connection, and nothing else', async () => {
  const gateway = await connect({})
  const head = Buffer.from(`${'['.repeat(500_000)}${']'.repeat(500_000)}`)
  const ping = encodeFrame('ping', null)
  const frame = Buffer.concat([ping.subarray(0, 9), head])
  frame.writeUInt32BE(5 + head.length, 0)
  frame.writeUInt32BE(head.length, 5)
  gateway.sendBytes(frame)
  await gateway.until(() => gateway.isClosed)
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
})

test.each([
  ['no list of listeners', { ownListeners: {} }],
  ['a listener without a host', { ownListeners: [{ port: 1 }] }],
  ['a number for an instance', { instance: 7 }],
])(
  'a hello of this release with %s ends the connection before ours is said',
  async (_what, hello) => {
    await expect(connect({ hello: hello as object })).rejects.toThrow('closed')
    bench.gateway.send('release', { connectionId: bench.connection.claims.connectionId })
    expect((await bench.call('counter_read')).head.verdict).toBe('result')
  },
)

test('a ping is answered with its own number', async () => {
  const gateway = await connect({})
  gateway.send('ping', { n: 7 })
  await gateway.until(() => gateway.of('pong').length > 0)
  expect(gateway.of('pong')[0]?.head).toEqual({ n: 7 })
})

/** Sends what it is given and expects a refusal; the upstream must not notice. */
async function refused(code: string, send: (gateway: ScriptedGateway) => string): Promise<void> {
  const { gateway } = bench
  const before = upstream.requests.length
  const id = send(gateway)
  const { head, raw } = await gateway.result(id)
  expect(head).toEqual({ intent: id, verdict: 'not_sent', code })
  expect(raw).toHaveLength(0)
  expect(upstream.requests).toHaveLength(before)
}

const sendWith = (claims: Record<string, unknown>) => (gateway: ScriptedGateway) =>
  gateway.submit(bench.order('counter_read', {}, claims)).id

test.each([
  [
    'an intent that expired',
    () => ({ iat: Date.now() - 30_000, exp: Date.now() - 6_000 }),
    'expired',
  ],
  [
    'an intent of the future',
    () => ({ iat: Date.now() + 6_000, exp: Date.now() + 20_000 }),
    undefined,
  ],
  ['an intent that lives too long', () => ({ exp: Date.now() + 61_000 }), undefined],
  ['an intent that ends before it begins', () => ({ exp: Date.now() - 1_000 }), undefined],
  ['an intent for another worker', () => ({ aud: 'ins_0123456789abcdefghjkmnpqrs' }), undefined],
  ['a wait that is too long', () => ({ startWithin: 15_001 }), undefined],
  ['a claim nobody knows', () => ({ extra: 1 }), undefined],
  ['another version', () => ({ v: 2 }), undefined],
  ['a call without a tool digest', () => ({ toolDigest: undefined }), undefined],
  ['a call without an access', () => ({ access: undefined }), undefined],
  ['half a credential', () => ({ credentialVersion: undefined }), undefined],
  ['an act nobody knows', () => ({ act: 'lease' }), undefined],
  [
    'other arguments than were digested',
    () => ({ argumentsDigest: `sha256:${'0'.repeat(64)}` }),
    undefined,
  ],
  ['another endpoint seal', () => ({ endpointDigest: `sha256:${'0'.repeat(64)}` }), undefined],
  ['another credential seal', () => ({ credentialDigest: `sha256:${'0'.repeat(64)}` }), undefined],
] as const)('refuses %s', async (_what, claims, code) => {
  await refused(code ?? 'intent_refused', sendWith(claims()))
})

test('an intent a little over its time passes, for the clocks', async () => {
  const claims = { iat: Date.now() - 10_000, exp: Date.now() - 3_000 }
  expect((await bench.call('counter_read', {}, claims)).head.verdict).toBe('result')
})

test('refuses a claim that was changed after signing', async () => {
  await refused('intent_refused', (gateway) => {
    const order = gateway.compose(bench.order('counter_read'))
    const changed = { ...order, text: order.text.replace('"counter_read"', '"counter_add"') }
    const batch = signOther(gateway, order, changed)
    gateway.sendBody(order, bench.connection)
    gateway.commit(batch)
    return order.id
  })
})

/** The signature is over one text, another one travels. */
function signOther(gateway: ScriptedGateway, signed: Composed, sent: Composed): string {
  const send = gateway.send.bind(gateway)
  gateway.send = (kind, head, raw) =>
    send(kind, head, kind === 'intents' ? Buffer.from(sent.text) : raw)
  try {
    return gateway.sendIntents([signed])
  } finally {
    gateway.send = send
  }
}

test('refuses a batch signed with another key of the right role', async () => {
  const other = issueCertificate({ authority, role: 'gateway', commonName: 'other', days: 1 })
  await refused('intent_refused', (gateway) => {
    const order = gateway.compose(bench.order('counter_read'))
    const batch = gateway.sendIntents([order], other)
    gateway.sendBody(order, bench.connection)
    gateway.commit(batch)
    return order.id
  })
})

test('an unsigned batch does not spend the ids it names', async () => {
  const { gateway } = bench
  const other = identity('gateway')
  const order = gateway.compose(bench.order('counter_read'))
  gateway.commit(gateway.sendIntents([order], other), [])
  const again = { ...order, text: order.text }
  const batch = gateway.sendIntents([again, gateway.compose(bench.order('echo'))])
  gateway.sendBody(again, bench.connection)
  gateway.commit(batch, [0])
  expect((await gateway.result(order.id)).head.verdict).toBe('result')
})

test('refuses an id that was used, on its connection and on another', async () => {
  const used = bench.gateway.submit(bench.order('counter_add', { by: 1 }, { access: 'write' }))
  expect((await bench.gateway.result(used.id)).head.verdict).toBe('result')
  const effects = upstream.effects
  const same = identity('gateway')
  const other = await connect({ identity: same })
  const batch = other.sendIntents([used])
  other.sendBody(used, bench.connection)
  other.commit(batch)
  expect((await other.result(used.id)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'intent_refused',
  })
  const again = bench.gateway.sendIntents([used])
  bench.gateway.sendBody(used, bench.connection)
  bench.gateway.commit(again)
  await bench.gateway.until(() => bench.gateway.of('result').length > 1)
  expect(upstream.effects).toBe(effects)
})

test('refuses an id that was used and settled', async () => {
  const used = bench.gateway.submit(bench.order('counter_read'))
  await bench.gateway.result(used.id)
  bench.gateway.send('settled', { intents: [used.id] })
  const other = await connect({})
  const batch = other.sendIntents([used])
  other.sendBody(used, bench.connection)
  other.commit(batch)
  expect((await other.result(used.id)).head.code).toBe('intent_refused')
})

test('refuses the second of two intents with one id', async () => {
  const { gateway } = bench
  const order = gateway.compose(bench.order('counter_add', { by: 1 }, { access: 'write' }))
  const effects = upstream.effects
  const batch = gateway.sendIntents([order, order])
  gateway.sendBody(order, bench.connection)
  gateway.commit(batch, [0, 1])
  await gateway.until(
    () =>
      gateway.of('result').filter(({ head }) => (head as { intent: string }).intent === order.id)
        .length === 2,
  )
  expect(upstream.effects).toBe(effects + 1)
})

test('refuses arguments that are not the ones that were digested', async () => {
  await refused('intent_refused', (gateway) => {
    const order = gateway.compose(bench.order('echo', { text: 'harmless' }))
    const batch = gateway.sendIntents([order])
    gateway.sendBody(order, bench.connection, Buffer.from('{"text":"harmful"}'))
    gateway.commit(batch)
    return order.id
  })
})

test('a body that came twice counts once, the first time', async () => {
  const { gateway } = bench
  const order = gateway.compose(bench.order('echo', { text: 'first' }))
  const batch = gateway.sendIntents([order])
  gateway.sendBody(order, bench.connection)
  gateway.sendBody(order, bench.connection, Buffer.from('{"text":"second"}'))
  gateway.commit(batch)
  expect((await gateway.result(order.id)).raw.toString()).toContain('first')
})

test('acts only on what was committed, and only on the connection that carried it', async () => {
  const { gateway } = bench
  const other = await connect({})
  const orders = [0, 1, 2].map(() =>
    gateway.compose(bench.order('counter_add', { by: 1 }, { access: 'write' })),
  )
  const effects = upstream.effects
  const batch = gateway.sendIntents(orders)
  for (const order of orders) gateway.sendBody(order, bench.connection)
  other.commit(batch, [0, 1, 2])
  other.send('ping', { n: 1 })
  await other.until(() => other.of('pong').length > 0)
  expect(upstream.effects).toBe(effects)
  gateway.commit(batch, [1])
  expect((await gateway.result(orders[1]?.id as string)).head.verdict).toBe('result')
  gateway.commit(batch, [0, 2])
  gateway.send('ping', { n: 2 })
  await gateway.until(() => gateway.of('pong').some(({ head }) => (head as { n: number }).n === 2))
  expect(upstream.effects).toBe(effects + 1)
})

test('seals that crossed the connection are taken by the digests of the intent', async () => {
  const { gateway, connection } = bench
  const bare = async (by: ScriptedGateway) => {
    const order = by.compose(bench.order('counter_read'))
    const batch = by.sendIntents([order])
    by.send('body', { intent: order.id }, order.body)
    by.commit(batch)
    return (await by.result(order.id)).head
  }
  await gateway.order({ ...bench.order('counter_read') })
  expect(await bare(gateway)).toMatchObject({ verdict: 'result' })
  const other = await connect({})
  expect(await bare(other)).toMatchObject({ verdict: 'not_sent', code: 'intent_refused' })
  await other.order({ ...bench.order('counter_read'), connection })
  expect(await bare(other)).toMatchObject({ verdict: 'result' })
})

test('a seal that is not the one of the intent does not count', async () => {
  await refused('intent_refused', (gateway) => {
    const order = gateway.compose(bench.order('counter_read'))
    const batch = gateway.sendIntents([order])
    gateway.send('body', { intent: order.id, endpoint: 'another.seal' }, order.body)
    gateway.commit(batch)
    return order.id
  })
})

test('a body may come after the commit', async () => {
  const { gateway } = bench
  const order = gateway.compose(bench.order('counter_read'))
  gateway.commit(gateway.sendIntents([order]))
  gateway.sendBody(order, bench.connection)
  expect((await gateway.result(order.id)).head.verdict).toBe('result')
})

test('an aborted batch is not acted on and its ids are spent', async () => {
  const { gateway } = bench
  const order = gateway.compose(bench.order('counter_add', { by: 1 }, { access: 'write' }))
  const effects = upstream.effects
  const batch = gateway.sendIntents([order])
  gateway.sendBody(order, bench.connection)
  gateway.send('abort', { batch })
  gateway.commit(batch)
  expect((await gateway.recover(order)).head.state).toBe('never_started')
  const again = gateway.sendIntents([order])
  gateway.sendBody(order, bench.connection)
  gateway.commit(again)
  expect((await gateway.result(order.id)).head.code).toBe('intent_refused')
  expect(upstream.effects).toBe(effects)
})

test('a batch that is sent while it waits ends the connection', async () => {
  const gateway = await connect({})
  const order = gateway.compose(bench.order('counter_read'))
  gateway.sendIntents([order])
  gateway.sendIntents([order])
  await gateway.until(() => gateway.isClosed)
})

test.each([
  ['too long after it was received', () => ({ startWithin: 1 })],
  // Received in time, as clocks may differ by five seconds; 15 s later it may be told as unknown already.
  ['after its end', () => ({ iat: Date.now() - 19_990, exp: Date.now() - 4_990 })],
] as const)('what would start %s is not sent', async (_when, claims) => {
  const { gateway } = bench
  const order = gateway.compose(bench.order('counter_read', {}, claims()))
  const batch = gateway.sendIntents([order])
  gateway.sendBody(order, bench.connection)
  gateway.send('ping', { n: 3 })
  await gateway.until(() => gateway.of('pong').some(({ head }) => (head as { n: number }).n === 3))
  await new Promise((resolve) => setTimeout(resolve, 20))
  const before = upstream.count('tools/call')
  gateway.commit(batch)
  expect((await gateway.result(order.id)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'expired',
  })
  expect(upstream.count('tools/call')).toBe(before)
})
