/**
 * The table of verdicts: what becomes of a call, for every way an upstream can answer or not. The upstream counts what it
 * was asked: once where something may have left, never where nothing did.
 */
import { createServer } from 'node:net'
import type { ResultHead } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import {
  defaultTools,
  type Fault,
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'
import { type SealedConnection, sealForTest } from '../testing/scripted-gateway.ts'
import { serverCertificate } from '../testing/server-certificate.ts'
import type { WorkerParts } from '../worker.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(
  options: UpstreamOptions = {},
  parts: Partial<WorkerParts> = {},
): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream(options)
  const bench = await Bench.start({ url: upstream.url }, parts)
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  return { upstream, bench }
}

const both = ['legacy', 'modern'] as const
const write = { access: 'write' } as const
const add = { by: 1 }

interface Row {
  readonly what: string
  readonly fault: Fault
  readonly verdict: 'result' | 'uncertain'
  readonly code: string | undefined
  readonly status?: number
}

const refused = (status: number, code: string): Row => ({
  what: `status ${status}`,
  fault: { kind: 'status', status },
  verdict: 'result',
  code,
  status,
})

const uncertain = (what: string, fault: Fault, code: string, status?: number): Row => ({
  what,
  fault,
  verdict: 'uncertain',
  code,
  ...(status === undefined ? {} : { status }),
})

const raw = (body: (id: string, result: string) => string | Uint8Array): Fault => ({
  kind: 'raw',
  body,
})

const noUtf8 = (id: string): Buffer =>
  Buffer.concat([
    Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"a":"`),
    Buffer.from([0xff, 0xfe]),
    Buffer.from('"}}'),
  ])

const stream = (body: (id: string, result: string) => string): Fault => ({
  kind: 'raw',
  contentType: 'text/event-stream',
  body,
})

const rows: Row[] = [
  ...[300, 301, 304, 308].map((status) => refused(status, 'upstream_refused')),
  refused(400, 'upstream_refused'),
  refused(401, 'upstream_unauthorized'),
  refused(403, 'upstream_forbidden'),
  ...[405, 409, 413, 421, 422].map((status) => refused(status, 'upstream_refused')),
  refused(429, 'upstream_rate_limited'),
  {
    ...refused(401, 'upstream_unauthorized'),
    what: 'status 401 that asks for a credential',
    fault: { kind: 'status', status: 401, headers: { 'www-authenticate': 'Bearer scope="more"' } },
  },
  {
    ...refused(429, 'upstream_rate_limited'),
    what: 'status 429 that says when to come again',
    fault: { kind: 'status', status: 429, headers: { 'retry-after': '0' } },
  },
  {
    ...refused(403, 'upstream_forbidden'),
    what: 'a refusal with a long page for people',
    fault: { kind: 'status', status: 403, body: '<p>'.repeat(100_000) },
  },
  {
    what: 'a stream that is cut behind the answer',
    fault: { kind: 'cut_stream', behind: true },
    verdict: 'result',
    code: undefined,
    status: 200,
  },
  ...[500, 501, 502, 503, 504].map((status) =>
    uncertain(`status ${status}`, { kind: 'status', status }, 'upstream_http_5xx', status),
  ),
  uncertain(
    'status 503 that says when to come again',
    { kind: 'status', status: 503, headers: { 'retry-after': '0' } },
    'upstream_http_5xx',
    503,
  ),
  uncertain('a cut before a byte', { kind: 'cut' }, 'upstream_unreachable'),
  uncertain('a cut in the middle', { kind: 'cut', midway: true }, 'upstream_unreachable', 200),
  uncertain('a stream cut in the answer', { kind: 'cut_stream' }, 'upstream_unreachable', 200),
  uncertain('an answer to another id', { kind: 'wrong_id' }, 'upstream_protocol', 200),
  uncertain('a compressed answer', { kind: 'compressed' }, 'upstream_protocol'),
  uncertain('status 204', { kind: 'status', status: 204 }, 'upstream_protocol', 204),
  uncertain('status 202', { kind: 'status', status: 202 }, 'upstream_protocol', 202),
  uncertain(
    'no JSON',
    raw(() => 'hello'),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'no answer in it',
    raw((id) => `{"jsonrpc":"2.0","id":${id}}`),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'a list',
    raw((id, result) => `[{"id":${id},"result":${result}}]`),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'a page for people',
    { kind: 'raw', contentType: 'text/html', body: () => '<p>hello' },
    'upstream_protocol',
    200,
  ),
  uncertain(
    'two results',
    raw((id, result) => `{"jsonrpc":"2.0","id":${id},"result":${result},"result":{}}`),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'a result and an error',
    raw((id, result) => `{"jsonrpc":"2.0","id":${id},"result":${result},"error":{}}`),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'a result that is no object',
    raw((id) => `{"jsonrpc":"2.0","id":${id},"result":[1]}`),
    'upstream_protocol',
    200,
  ),
  uncertain(
    'a result that is no JSON',
    raw((id) => `{"jsonrpc":"2.0","id":${id},"result":{"a":tru}}`),
    'upstream_protocol',
    200,
  ),
  uncertain('bytes that are no UTF-8', raw(noUtf8), 'upstream_protocol', 200),
  uncertain(
    'a stream that ends without the answer',
    stream(() => ': nothing\n\n'),
    'upstream_unreachable',
    200,
  ),
  uncertain(
    'a stream with the answer to another id',
    stream((_id, result) => `data: {"jsonrpc":"2.0","id":"x","result":${result}}\n\n`),
    'upstream_unreachable',
    200,
  ),
  uncertain(
    'a stream of what is no JSON',
    stream(() => 'data: hello\n\n'),
    'upstream_protocol',
    200,
  ),
]

test.each(both.flatMap((era) => rows.map((row) => ({ era, ...row }))))(
  '$era: $what is $verdict ($code), and the upstream was asked once',
  async ({ era, fault, verdict, code, status }) => {
    const { upstream, bench } = await start({ era })
    upstream.misbehave(fault, { method: 'tools/call' })
    for (const access of ['read', 'write'] as const) {
      const before = upstream.count('tools/call')
      const { head, raw: body } = await bench.call('counter_add', add, { access })
      expect(head).toMatchObject({ verdict, ...(code ? { code } : {}) })
      expect([head.code, head.status]).toEqual([code, status])
      if (code) expect(body).toHaveLength(0)
      expect(upstream.count('tools/call')).toBe(before + 1)
    }
    upstream.behave()
    expect((await bench.call('counter_read')).head.verdict).toBe('result')
  },
)

test.each([
  ['legacy with a session', { era: 'legacy' }, 404, 'upstream_session_lost'],
  ['legacy with a session', { era: 'legacy', unknownSession: 400 }, 400, 'upstream_session_lost'],
  ['legacy without sessions', { era: 'legacy', sessions: false }, 404, 'upstream_refused'],
  ['modern', { era: 'modern' }, 404, 'upstream_refused'],
] as const)('%s (%j): status %i is known, as %s', async (_what, options, status, code) => {
  const { upstream, bench } = await start(options)
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message: 'no' } })
  upstream.misbehave({ kind: 'status', status, body }, { method: 'tools/call', times: 1 })
  const { head } = await bench.call('counter_add', add, write)
  expect(head).toMatchObject({ verdict: 'result', code, status })
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 0])
  expect((await bench.call('counter_add', add, write)).head.code).toBeUndefined()
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([2, 1])
})

test.each(both)('%s: a redirect leads nowhere', async (era) => {
  const elsewhere = await startUpstream({ era })
  const { upstream, bench } = await start({ era })
  open.push(elsewhere)
  for (const status of [301, 302, 303, 307, 308]) {
    upstream.misbehave(
      { kind: 'redirect', to: elsewhere.url, status },
      { method: 'tools/call', times: 1 },
    )
    const { head } = await bench.call('counter_add', add, write)
    expect(head).toMatchObject({ verdict: 'result', code: 'upstream_refused', status })
  }
  expect(upstream.count('tools/call')).toBe(5)
  expect(elsewhere.requests).toEqual([])
})

const limits = { resultBytes: 1_000_000, callMs: 200, verifyWithinMs: 300_000 }

test.each(both)('%s: no answer in time is uncertain, a slower limit gets it', async (era) => {
  const { upstream, bench } = await start({ era })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call', times: 1 })
  const { head } = await bench.call('counter_add', add, { ...write, limits })
  expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout' })
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 1])
  upstream.misbehave({ kind: 'late', ms: 300 }, { method: 'tools/call', times: 1 })
  expect((await bench.call('counter_add', add, write)).head.code).toBeUndefined()
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([2, 2])
})

test.each(both)('%s: half an answer in time is uncertain', async (era) => {
  const { upstream, bench } = await start({ era, reply: 'sse' })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = bench.order('progress', { steps: 2 }, { ...write, limits, progress: true })
  const { head } = await bench.gateway.order(order)
  expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout', status: 200 })
  expect(upstream.count('tools/call')).toBe(1)
})

test.each(both)('%s: a late answer changes no verdict and asks for nothing', async (era) => {
  const { upstream, bench } = await start({ era })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const order = bench.gateway.submit(bench.order('counter_add', add, { ...write, limits }))
  expect((await bench.gateway.result(order.id)).head.verdict).toBe('uncertain')
  upstream.answerHeld()
  await bench.gateway.until(() => bench.gateway.of('late').length > 0)
  expect((await bench.gateway.recover(order)).head.result?.verdict).toBe('uncertain')
  expect(bench.gateway.of('result').filter(({ head }) => idOf(head) === order.id)).toHaveLength(1)
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 1])
})

const idOf = (head: unknown): string => (head as ResultHead).intent
const asks = { name: 'asks', run: () => ({ result: { resultType: 'input_required' } }) }

test.each(
  both.flatMap((era) =>
    (['json', 'sse'] as const).flatMap((reply) => [
      { era, reply, tool: 'counter_add', known: {} },
      { era, reply, tool: 'fails', known: { isError: true } },
      { era, reply, tool: 'rpc_error', known: { rpcError: true } },
      { era, reply, tool: 'asks', known: { code: 'input_required' } },
    ]),
  ),
)('$era, $reply: the answer of $tool is known, and was asked for once', async (row) => {
  const { era, reply, tool, known } = row
  const { upstream, bench } = await start({ era, reply, tools: [...defaultTools, asks] })
  const { head } = await bench.call(tool, add, write)
  expect(head).toMatchObject({ verdict: 'result', status: 200, ...known })
  expect({ isError: head.isError, rpcError: head.rpcError, code: head.code }).toEqual({
    isError: undefined,
    rpcError: undefined,
    code: undefined,
    ...known,
  })
  expect(upstream.count('tools/call')).toBe(1)
})

/** What the worker knows by now: it has read what came over its sockets before. */
async function turn({ gateway }: Bench): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const before = gateway.of('pong').length
    gateway.send('ping', { n })
    await gateway.until(() => gateway.of('pong').length > before)
  }
}

test.each(both)('%s: a connection that is refused proves that nothing was sent', async (era) => {
  const { upstream, bench } = await start({ era })
  expect((await bench.call('counter_add', add, write)).head.verdict).toBe('result')
  await upstream.close()
  await turn(bench)
  for (const access of ['read', 'write'] as const)
    expect((await bench.call('counter_add', add, { access })).head).toMatchObject({
      verdict: 'not_sent',
      code: 'upstream_unreachable',
    })
  expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 1])
})

test.each(both)(
  '%s: a certificate nobody vouches for proves that nothing was sent',
  async (era) => {
    const tls = serverCertificate('IP:127.0.0.1')
    const { upstream, bench } = await start({ era, tls }, { upstreamAuthorities: [tls.cert] })
    expect((await bench.call('counter_add', add, write)).head.verdict).toBe('result')
    const { port } = upstream
    await upstream.close()
    const impostor = await startUpstream({ era, tls: serverCertificate('IP:127.0.0.1'), port })
    open.push(impostor)
    await turn(bench)
    for (const access of ['read', 'write'] as const)
      expect((await bench.call('counter_add', add, { access })).head).toMatchObject({
        verdict: 'not_sent',
        code: 'upstream_tls',
      })
    expect(impostor.requests).toEqual([])
    expect(upstream.count('tools/call')).toBe(1)
  },
)

test.each(both)('%s: a handshake that breaks off proves that nothing was sent', async (era) => {
  const tls = serverCertificate('IP:127.0.0.1')
  const { upstream, bench } = await start({ era, tls }, { upstreamAuthorities: [tls.cert] })
  const { port } = upstream
  await upstream.close()
  let bytes = 0
  const broken = createServer((socket) => {
    socket.on('data', (chunk) => {
      bytes += chunk.length
      socket.destroy()
    })
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => broken.listen(port, '127.0.0.1', resolve))
  open.push({ close: () => new Promise((resolve) => broken.close(resolve)) })
  await turn(bench)
  const { head } = await bench.call('counter_add', add, write)
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'upstream_unreachable' })
  expect(bytes).toBeGreaterThan(0)
  expect(upstream.count('tools/call')).toBe(0)
})

test.each(both)('%s: a tool that is not the reviewed one is not called', async (era) => {
  const { upstream, bench } = await start({ era })
  const order = { ...bench.order('counter_add', add, write), toolDigest: bench.digestOf('echo') }
  expect((await bench.gateway.order(order)).head).toMatchObject({
    verdict: 'not_sent',
    code: 'tool_changed',
  })
  expect(upstream.count('tools/call')).toBe(0)
})

const failingCloses: [string, Fault][] = [
  ['refused', { kind: 'status', status: 405 }],
  ['answered with a failure', { kind: 'status', status: 500 }],
  ['cut', { kind: 'cut' }],
  ['never answered', { kind: 'hang' }],
]

/** The next revision of the connection: its upstream replaces the one that is in use. */
function nextRevision(bench: Bench): SealedConnection {
  const { connectionId, endpointClear } = bench.connection.claims
  const url = `http://127.0.0.1:${endpointClear.port}/mcp`
  return sealForTest({ url, connectionId, revision: 2, key: bench.worker.key })
}

// Only of the legacy era: a modern server has no session that could be ended.
test.each(failingCloses)(
  'a known result survives an end of its session that is %s',
  async (_what, fault) => {
    const { upstream, bench } = await start({ era: 'legacy' })
    upstream.misbehave(fault, { method: 'DELETE' })
    upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
    const order = bench.gateway.submit(bench.order('counter_add', add, write))
    await upstream.received('tools/call')
    // The session is to end as soon as the call has.
    await bench.review(nextRevision(bench))
    upstream.answerHeld()
    const { head, raw: body } = await bench.gateway.result(order.id)
    expect(head).toMatchObject({ verdict: 'result', status: 200 })
    await upstream.received('DELETE')
    await turn(bench)
    const recovered = await bench.gateway.recover(order)
    expect(recovered.head).toMatchObject({ state: 'result', result: head })
    expect(recovered.raw).toEqual(body)
    expect(bench.gateway.of('result').filter(({ head }) => idOf(head) === order.id)).toHaveLength(1)
    expect([upstream.count('tools/call'), upstream.effects]).toEqual([1, 1])
  },
)

test('a known result survives an upstream that is gone before its session could be ended', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  const order = bench.gateway.submit(bench.order('counter_add', add, write))
  const { head } = await bench.gateway.result(order.id)
  await upstream.close()
  const { connectionId } = bench.connection.claims
  bench.gateway.send('release', { connectionId })
  await turn(bench)
  expect(head.verdict).toBe('result')
  expect((await bench.gateway.recover(order)).head).toMatchObject({ state: 'result', result: head })
  expect([upstream.count('tools/call'), upstream.deletes]).toEqual([1, 0])
})
