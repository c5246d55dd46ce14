/** What passes between a call and its upstream: results as they are, words of ours, progress, cancelling. */
import { afterEach, expect, test } from 'vitest'
import {
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { Bench } from '../testing/bench.ts'

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

const json = 'application/json'
const both = ['legacy', 'modern'] as const

test.each(both)('%s: an endless stream ends at the limit of the call', async (era) => {
  const { upstream, bench } = await start({ era })
  upstream.misbehave({ kind: 'endless_sse', chunkBytes: 1_000 }, { method: 'tools/call' })
  const limits = { resultBytes: 1_000, callMs: 200, verifyWithinMs: 300_000 }
  const { head } = await bench.call('counter_read', {}, { limits })
  expect(head).toMatchObject({ verdict: 'uncertain', code: 'upstream_timeout' })
})

test.each([
  { era: 'legacy', reply: 'json' },
  { era: 'legacy', reply: 'sse' },
  { era: 'modern', reply: 'json' },
  { era: 'modern', reply: 'sse' },
] as const)('$era, $reply: results and errors pass as they are', async (options) => {
  const { upstream, bench } = await start(options)
  const meta =
    options.era === 'modern'
      ? {
          resultType: 'complete',
          _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'scripted', version: '1.0.0' } },
        }
      : {}
  const read = await bench.call('counter_read')
  expect(JSON.parse(read.raw.toString())).toEqual({
    content: [{ type: 'text', text: String(upstream.state.counter) }],
    ...meta,
  })
  expect(read.head).toMatchObject({ verdict: 'result', status: 200, bytes: read.raw.length })
  expect(read.head.code).toBeUndefined()
  const report = await bench.call('report')
  expect(JSON.parse(report.raw.toString()).structuredContent).toEqual({
    value: upstream.state.counter,
  })
  const fails = await bench.call('fails')
  expect(fails.head).toMatchObject({ verdict: 'result', isError: true })
  const error = await bench.call('rpc_error')
  expect(error.head).toMatchObject({ verdict: 'result', rpcError: true })
  expect(JSON.parse(error.raw.toString())).toEqual({
    code: -32042,
    message: 'no such thing',
    data: { why: 'scripted' },
  })
})

test('the bytes of a result are not touched', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  const sent = '{ "content":[],"n":1.0,"big":12345678901234567890,"e":1E3,"text":"\\u00e9" }'
  upstream.misbehave(
    {
      kind: 'raw',
      contentType: json,
      body: (id) => `{"result":${sent}, "id":${id},"jsonrpc":"2.0"}`,
    },
    { method: 'tools/call' },
  )
  const { raw } = await bench.call('counter_read')
  expect(raw.toString()).toBe(sent)
})

test.each(['legacy', 'modern'] as const)(
  '%s: a question of a server is told as one, and not passed on',
  async (era) => {
    const ask = () => ({ result: { resultType: 'input_required', inputRequests: {} } })
    const { bench } = await start({ era, tools: [{ name: 'asks', run: ask }] })
    const { head, raw } = await bench.call('asks')
    expect(head).toMatchObject({ verdict: 'result', code: 'input_required' })
    expect(raw).toHaveLength(0)
  },
)

test('a result type nobody knows is uncertain in 2026-07-28 and means nothing before', async () => {
  const tools = [{ name: 'odd', run: () => ({ result: { resultType: 'perhaps', content: [] } }) }]
  const modern = await start({ era: 'modern', tools })
  expect((await modern.bench.call('odd')).head).toMatchObject({
    verdict: 'uncertain',
    code: 'upstream_protocol',
  })
  const legacy = await start({ era: 'legacy', tools })
  expect((await legacy.bench.call('odd')).head.verdict).toBe('result')
})

test('a result over the limit is known, digested and withheld; one at the limit passes', async () => {
  const { bench } = await start({ era: 'legacy' })
  const whole = await bench.call('big', { bytes: 5_000 })
  const limitedTo = (resultBytes: number) =>
    bench.call(
      'big',
      { bytes: 5_000 },
      { limits: { resultBytes, callMs: 5_000, verifyWithinMs: 300_000 } },
    )
  const cut = await limitedTo(whole.raw.length - 1)
  expect(cut.head).toMatchObject({
    verdict: 'result',
    code: 'result_too_large',
    withheld: 'too_large',
    bytes: whole.raw.length,
    digest: whole.head.digest,
  })
  expect(cut.raw).toHaveLength(0)
  expect((await limitedTo(whole.raw.length)).raw).toEqual(whole.raw)
})

test.each([
  { era: 'legacy', reply: 'json' },
  { era: 'modern', reply: 'sse' },
] as const)(
  '$era, $reply: where it may be cut, its beginning passes with a mark',
  async (options) => {
    const { bench } = await start(options)
    const whole = await bench.call('big', { bytes: 50_000 })
    const limits = { resultBytes: 4_000, callMs: 5_000, verifyWithinMs: 300_000 }
    const { head, raw } = await bench.call('big', { bytes: 50_000 }, { limits, cut: true })
    const { bytes, digest, status } = whole.head
    expect(head).toMatchObject({ verdict: 'result', bytes, digest, status, isCut: true })
    expect([head.code, head.withheld, head.isError]).toEqual([undefined, undefined, undefined])
    expect(raw.length).toBeLessThanOrEqual(4_000)
    const { content, resultType } = JSON.parse(raw.toString())
    expect(resultType).toBe(options.era === 'modern' ? 'complete' : undefined)
    const [{ text: passed }, { text: mark }] = content
    expect(JSON.parse(whole.raw.toString()).content[0].text.startsWith(passed)).toBe(true)
    expect(mark).toContain(`it has ${bytes} bytes, the limit is 4000`)
  },
)

test('of a result over the limit it is known whether it failed, and whether it asks for something', async () => {
  const long = { type: 'text', text: 'x'.repeat(9_000) }
  const tools = [
    { name: 'fails', run: () => ({ result: { content: [long], isError: true } }) },
    { name: 'asks', run: () => ({ result: { resultType: 'input_required', long } }) },
    { name: 'odd', run: () => ({ result: { resultType: 'perhaps', content: [long] } }) },
    { name: 'list', run: () => ({ result: { content: long } }) },
  ]
  const { bench } = await start({ era: 'modern', tools })
  const limits = { resultBytes: 4_000, callMs: 5_000, verifyWithinMs: 300_000 }
  const call = async (tool: string) => (await bench.call(tool, {}, { limits, cut: true })).head
  expect(await call('fails')).toMatchObject({ isError: true, isCut: true })
  expect((await call('asks')).code).toBe('input_required')
  // What nobody can read was done all the same.
  for (const tool of ['odd', 'list'])
    expect(await call(tool)).toMatchObject({ code: 'result_too_large', withheld: 'too_large' })
})

test('progress of ours is passed on when it is wanted', async () => {
  for (const era of both) {
    const { bench } = await start({ era })
    const order = bench.order('progress', { steps: 3 }, { progress: true })
    const { id } = bench.gateway.submit(order)
    expect((await bench.gateway.result(id)).head.verdict).toBe('result')
    expect(bench.gateway.progress(id)).toEqual([
      { intent: id, progress: 1, total: 3, message: 'step 1' },
      { intent: id, progress: 2, total: 3, message: 'step 2' },
      { intent: id, progress: 3, total: 3, message: 'step 3' },
    ])
    const unwanted = bench.gateway.submit(bench.order('progress', { steps: 3 }))
    await bench.gateway.result(unwanted.id)
    expect(bench.gateway.progress(unwanted.id)).toEqual([])
  }
})

test('progress that JSON cannot say again is not passed on; what comes after it is', async () => {
  const { upstream, bench } = await start()
  const tell = (id: string, progress: string) =>
    `data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${id},${progress}}}\n\n`
  upstream.misbehave(
    {
      kind: 'raw',
      contentType: 'text/event-stream',
      body: (id, result) =>
        [
          ...['"progress":1e999', '"progress":"1"', '"progress":1,"total":-1e999'].map((one) =>
            tell(id, one),
          ),
          `data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`,
        ].join(''),
    },
    { method: 'tools/call' },
  )
  const { id } = bench.gateway.submit(bench.order('counter_read', {}, { progress: true }))
  expect((await bench.gateway.result(id)).head.verdict).toBe('result')
  expect(bench.gateway.progress(id)).toEqual([{ intent: id, progress: 1 }])
})

test('the upstream gets the name, the arguments and words of ours, and nothing else', async () => {
  const { upstream, bench } = await start({ era: 'modern' })
  await bench.call('whoami', { b: 1, a: 'x' }, { progress: true })
  const sent = upstream.requests.at(-1)
  const body = sent?.body as { id: number; params: object }
  expect(body.params).toEqual({
    name: 'whoami',
    arguments: { a: 'x', b: 1 },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'sallyport', version: expect.any(String) },
      'io.modelcontextprotocol/clientCapabilities': {},
      progressToken: body.id,
    },
  })
  expect(sent?.text).toContain('"arguments":{"a":"x","b":1}')
  expect(sent?.headers).toEqual({
    host: `127.0.0.1:${upstream.port}`,
    connection: 'keep-alive',
    accept: 'application/json, text/event-stream',
    'accept-encoding': 'identity',
    'user-agent': expect.stringMatching(/^sallyport\//),
    'content-type': 'application/json',
    'content-length': expect.any(String),
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'whoami',
  })
})

test('arguments are mirrored in headers where the reviewed schema says so', async () => {
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      count: { type: 'integer', 'x-mcp-header': 'Count' },
      absent: { type: 'string', 'x-mcp-header': 'Absent' },
    },
  }
  const { upstream, bench } = await start({
    era: 'modern',
    tools: [{ name: 'grüße', inputSchema }],
  })
  const paramHeaders = [
    { header: 'Region', path: ['region'] },
    { header: 'Count', path: ['count'] },
    { header: 'Absent', path: ['absent'] },
  ]
  const args = { region: 'Köln', count: 42 }
  const { head } = await bench.call('grüße', args, { paramHeaders })
  expect(head.verdict).toBe('result')
  expect(upstream.requests.at(-1)?.headers).toMatchObject({
    'mcp-name': '=?base64?Z3LDvMOfZQ==?=',
    'mcp-param-region': '=?base64?S8O2bG4=?=',
    'mcp-param-count': '42',
  })
  expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('mcp-param-absent')
  // Without them the upstream refuses: it checks.
  expect((await bench.call('grüße', args)).head.code).toBe('upstream_refused')
})

test('a cancelled modern read ends; a write and a legacy read go on', async () => {
  for (const [era, access, verdict] of [
    ['modern', 'read', 'uncertain'],
    ['modern', 'write', 'result'],
    ['legacy', 'read', 'result'],
  ] as const) {
    const { upstream, bench } = await start({ era })
    upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
    const { id } = bench.gateway.submit(bench.order('counter_read', {}, { access }))
    await upstream.received('tools/call')
    bench.gateway.send('cancel', { intent: id })
    bench.gateway.send('ping', { n: 1 })
    await bench.gateway.until(() => bench.gateway.of('pong').length > 0)
    upstream.answerHeld()
    expect((await bench.gateway.result(id)).head.verdict).toBe(verdict)
  }
})
