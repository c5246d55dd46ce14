/** What comes of a write whose answer comes after its time: told once, beside a verdict that stays what it was. */
import { digestBytes, type Intent, type Listing, type ResultHead } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import {
  type Fault,
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { Engine } from '../engine.ts'
import type { Outcome } from '../orders/outcome.ts'
import { Bench } from '../testing/bench.ts'
import { MemorySource } from '../testing/memory-source.ts'
import { sealForTest } from '../testing/scripted-gateway.ts'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { createVaultKey } from '../testing/worker-under-test.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(options: UpstreamOptions = {}): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream(options)
  const bench = await Bench.start({ url: upstream.url })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, bench }
}

const limits = { resultBytes: 100_000, callMs: 100, verifyWithinMs: 300_000 }
const write = { access: 'write', limits } as const
const late = ({ gateway }: Bench) => gateway.of('late').map(({ head }) => head as ResultHead)

const ways = (['legacy', 'modern'] as const).flatMap((era) =>
  (['json', 'sse'] as const).map((reply) => ({ era, reply })),
)

test.each(ways)(
  '$era, $reply: the answer that came too late is told beside it',
  async (options) => {
    const { upstream, bench } = await start(options)
    upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
    const order = bench.gateway.submit(bench.order('counter_add', { by: 1 }, write))
    const { head } = await bench.gateway.result(order.id)
    expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout' })
    upstream.answerHeld()
    await bench.gateway.until(() => late(bench).length > 0)
    const [told] = late(bench)
    expect(told).toEqual({
      intent: order.id,
      verdict: 'result',
      status: 200,
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      bytes: expect.any(Number),
      tookMs: expect.any(Number),
    })
    expect(told?.tookMs).toBeGreaterThanOrEqual(limits.callMs)
    expect(bench.gateway.of('late')[0]?.raw).toHaveLength(0)
    const recovered = await bench.gateway.recover(order)
    expect(recovered.head).toMatchObject({ state: 'result', result: { verdict: 'uncertain' } })
    expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 1])
    const results = bench.gateway.of('result').map(({ head }) => (head as ResultHead).intent)
    expect(results.filter((intent) => intent === order.id)).toHaveLength(1)
    expect(bench.gateway.of('late')).toHaveLength(1)
  },
)

test('what is told is the digest of what came, an error as an error', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  for (const tool of ['fails', 'rpc_error']) await bench.call(tool, {}, write)
  upstream.answerHeld()
  await bench.gateway.until(() => late(bench).length > 1)
  const text = '{"content":[{"type":"text","text":"The thing could not be done."}],"isError":true}'
  expect(late(bench).find(({ isError }) => isError)).toMatchObject({ digest: digestBytes(text) })
  expect(late(bench).find(({ rpcError }) => rpcError)).toMatchObject({ verdict: 'result' })
})

test('an outcome that is already settled is told of too', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = bench.gateway.submit(bench.order('counter_add', { by: 1 }, write))
  await bench.gateway.result(order.id)
  bench.gateway.send('settled', { intents: [order.id] })
  expect((await bench.gateway.recover(order)).head.state).toBe('not_known')
  upstream.answerHeld()
  await bench.gateway.until(() => late(bench).length > 0)
})

/** What the worker has done by now about what the upstream did before is told. */
async function turn({ gateway }: Bench): Promise<void> {
  const before = gateway.of('pong').length
  gateway.send('ping', { n: before })
  await gateway.until(() => gateway.of('pong').length > before)
}

test('of a read nothing is waited for', async () => {
  const { upstream, bench } = await start({ standingStreams: false })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = bench.gateway.submit(bench.order('counter_read', {}, { limits }))
  await upstream.received('tools/call')
  expect(upstream.open).toBe(1)
  expect((await bench.gateway.result(order.id)).head.verdict).toBe('uncertain')
  await upstream.until(() => upstream.open === 0)
  upstream.answerHeld()
  await turn(bench)
  expect(late(bench)).toEqual([])
})

test('a refusal that comes late is told as one', async () => {
  const { upstream, bench } = await start()
  const refusal = { kind: 'status', status: 403 } as const
  upstream.misbehave({ kind: 'hang', next: refusal }, { method: 'tools/call' })
  await bench.call('counter_add', { by: 1 }, write)
  upstream.answerHeld()
  await bench.gateway.until(() => late(bench).length > 0)
  expect(late(bench)[0]).toMatchObject({
    verdict: 'result',
    code: 'upstream_forbidden',
    status: 403,
  })
})

const noAnswers: [string, Fault][] = [
  ['a failure of the server', { kind: 'status', status: 500 }],
  ['a cut', { kind: 'cut' }],
  ['a cut in the middle', { kind: 'cut', midway: true }],
  ['an answer to another id', { kind: 'wrong_id' }],
  ['more than a late answer may be', { kind: 'endless_sse', chunkBytes: 300_000, everyMs: 1 }],
]

test.each(noAnswers)('%s that comes late is no evidence', async (_what, next) => {
  const { upstream, bench } = await start({ standingStreams: false })
  upstream.misbehave({ kind: 'hang', next }, { method: 'tools/call' })
  const { head } = await bench.call('counter_add', { by: 1 }, write)
  expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout' })
  expect(upstream.open).toBe(1)
  upstream.answerHeld()
  await upstream.until(() => upstream.open === 0)
  await turn(bench)
  expect(late(bench)).toEqual([])
  expect(upstream.count('tools/call')).toBe(1)
})

test('it is told to nobody when the connection the order came by is gone', async () => {
  const { upstream, bench } = await start({ standingStreams: false })
  const other = await bench.worker.gateway()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  await bench.call('counter_add', { by: 1 }, write)
  bench.gateway.cut()
  await expect.poll(() => bench.worker.log).toContain('gateway_disconnected')
  upstream.answerHeld()
  await upstream.until(() => upstream.open === 0)
  other.send('ping', { n: 1 })
  await other.until(() => other.of('pong').length > 0)
  expect(other.of('late')).toEqual([])
})

test.each([
  [400_000, 1],
  [1_200_000, 0],
])('%i bytes before a late answer leave %i to be told of', async (bytes, count) => {
  const { upstream, bench } = await start({ standingStreams: false })
  const next: Fault = {
    kind: 'raw',
    contentType: 'text/event-stream',
    body: (id, result) =>
      `${': padding\n'.repeat(bytes / 10)}data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`,
  }
  upstream.misbehave({ kind: 'hang', next }, { method: 'tools/call' })
  await bench.call('counter_add', { by: 1 }, write)
  upstream.answerHeld()
  await upstream.until(() => upstream.open === 0)
  await turn(bench)
  expect(late(bench)).toHaveLength(count)
})

test('calls that are waited for longer take no place of others, and 64 are', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const submit = (count: number, claims: object) =>
    Array.from({ length: count }, () =>
      bench.gateway.submit(bench.order('counter_add', { by: 1 }, claims)),
    )
  for (const { id } of submit(70, write))
    expect((await bench.gateway.result(id)).head.code).toBe('upstream_timeout')
  // As many as there may be at once, beside them.
  const others = submit(128, { access: 'write' })
  await upstream.received('tools/call', 70 + 128)
  upstream.answerHeld()
  for (const { id } of others) expect((await bench.gateway.result(id)).head.code).toBeUndefined()
  await bench.gateway.until(() => late(bench).length >= 64)
  await turn(bench)
  expect(late(bench)).toHaveLength(64)
})

test('a worker that ends waits for no late answer', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  await bench.call('counter_add', { by: 1 }, write)
  expect(upstream.open).toBeGreaterThan(0)
  await bench.worker.worker.stop()
  await upstream.until(() => upstream.open === 0)
})

/** What acts, without the process around it, on a clock that is stepped. */
async function startEngine() {
  const upstream = await startUpstream({ standingStreams: false })
  const clock = new SteppedClock()
  const key = createVaultKey()
  const engine = new Engine({
    ring: new MemorySource(key).ring(),
    localAllowed: true,
    authorities: undefined,
    ownListeners: new Map(),
    clock,
    observed: () => {},
  })
  open.push(upstream, { close: () => engine.close() })
  const { claims, endpoint, credential } = sealForTest({ url: upstream.url, key })
  const told: Omit<ResultHead, 'intent'>[] = []
  const perform = (intent: Partial<Intent>): Promise<Outcome> =>
    engine.perform({
      intent: { ...claims, limits, ...intent } as Intent,
      luggage: { endpoint, credential, raw: Buffer.from('{"by":1}') },
      pass: () => undefined,
      progress: () => {},
      late: (head) => told.push(head),
      cancellable: () => {},
    })
  const { raw } = await perform({ act: 'list', limits: { ...limits, resultBytes: 1_000_000 } })
  const { tools } = JSON.parse(String(raw)) as Listing
  const toolDigest = tools.find(({ name }) => name === 'counter_add')?.digest as string
  const call = { act: 'call', tool: 'counter_add', toolDigest, access: 'write' } as const
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const outcome = perform({ ...call, executionId: 'exe_1' })
  await upstream.received('tools/call')
  clock.step(limits.callMs)
  return { upstream, clock, told, head: (await outcome).head }
}

test('it is waited for a minute from the deadline on, then the connection is cut', async () => {
  const { upstream, clock, told, head } = await startEngine()
  expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout', tookMs: 100 })
  clock.step(59_999)
  expect(upstream.open).toBe(1)
  clock.step(1)
  await upstream.until(() => upstream.open === 0)
  expect(told).toEqual([])
})

test('it is told in the last moment of that minute', async () => {
  const { upstream, clock, told } = await startEngine()
  clock.step(59_999)
  upstream.answerHeld()
  await upstream.until(() => upstream.open === 0)
  expect(told).toMatchObject([{ verdict: 'result', status: 200, tookMs: 60_099 }])
})
