/** What the worker agrees on with an upstream, keeps, and ends. */
import { afterEach, expect, test } from 'vitest'
import { startEverything } from '../../../../tests/upstreams/everything.ts'
import {
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../../../../tests/upstreams/scripted-upstream.ts'
import { startSdkServer } from '../../../../tests/upstreams/sdk-modern-server.ts'
import { Bench } from '../testing/bench.ts'
import { sealForTest } from '../testing/scripted-gateway.ts'

const open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function start(
  options: UpstreamOptions = {},
  token?: string,
): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream(options)
  const bench = await Bench.start({ url: upstream.url, ...(token ? { token } : {}) })
  open.push(upstream, { close: () => bench.stop() })
  return { upstream, bench }
}

test.each([
  { era: 'legacy', version: '2025-11-25' },
  { era: 'modern', version: '2026-07-28' },
  { era: 'dual', version: '2026-07-28' },
] as const)('a $era upstream is agreed with once', async ({ era, version }) => {
  const { upstream, bench } = await start({ era, pageSize: 3 })
  const listing = await bench.review()
  expect(listing).toMatchObject({
    era: era === 'legacy' ? 'legacy' : 'modern',
    protocolVersion: version,
    serverInfo: { name: 'scripted', version: '1.0.0' },
    capabilities: ['tools'],
  })
  const names = listing.tools.map(({ name }) => name)
  expect(names).toEqual([...upstream.tools.map(({ name }) => name)].sort())
  const [before, initialized] = [upstream.count('server/discover'), upstream.count('initialize')]
  for (let i = 0; i < 5; i++) await bench.call('counter_read')
  expect(upstream.count('server/discover')).toBe(before)
  expect(upstream.count('initialize')).toBe(initialized)
})

test('the reference server and the one of the official SDK are listed and called', async () => {
  const everything = await startEverything()
  open.push(everything)
  const legacy = await Bench.start({ url: everything.url })
  open.push({ close: () => legacy.stop() })
  expect((await legacy.review()).era).toBe('legacy')
  const echo = await legacy.call('echo', { message: 'hi' })
  expect(JSON.parse(echo.raw.toString()).content).toEqual([{ type: 'text', text: 'Echo: hi' }])

  const sdk = await startSdkServer()
  open.push(sdk)
  const modern = await Bench.start({ url: sdk.url })
  open.push({ close: () => modern.stop() })
  expect((await modern.review()).era).toBe('modern')
  const sum = JSON.parse((await modern.call('add', { by: 1 }, { access: 'write' })).raw.toString())
  expect(sum.structuredContent).toEqual({ total: expect.any(Number) })
  expect(sum.content).toEqual([{ type: 'text', text: 'The total is in the structure.' }])
})

test.each([404, 400] as const)(
  'a session the server forgot (%i) is told and opened anew',
  async (unknownSession) => {
    const { upstream, bench } = await start({ era: 'legacy', unknownSession })
    await bench.review()
    upstream.forgetSessions()
    expect((await bench.call('counter_add', { by: 1 }, { access: 'write' })).head).toMatchObject({
      verdict: 'result',
      code: 'upstream_session_lost',
      status: unknownSession,
    })
    expect(upstream.effects).toBe(0)
    expect((await bench.call('counter_read')).head.code).toBeUndefined()
    expect(upstream.count('initialize')).toBe(2)
    // The era was known, so it was not asked for again.
    expect(upstream.count('server/discover')).toBe(1)
  },
)

const ends = {
  release: async (bench: Bench) => {
    bench.gateway.send('release', { connectionId: bench.connection.claims.connectionId })
  },
  'an order to close': async (bench: Bench) => {
    const { head } = await bench.gateway.order({
      connection: bench.connection,
      claims: { act: 'close' },
    })
    expect(head.verdict).toBe('result')
  },
  'a new revision': async (bench: Bench) => {
    const { connectionId } = bench.connection.claims
    const url = `http://127.0.0.1:${bench.connection.claims.endpointClear.port}/mcp`
    const token = 'token-1234567890'
    const next = sealForTest({ url, token, connectionId, revision: 2, key: bench.worker.key })
    await bench.review(next)
  },
  shutdown: async (bench: Bench) => {
    await bench.worker.worker.stop()
  },
}

test.each(Object.entries(ends))(
  '%s ends a legacy session with its id and credential',
  async (_what, end) => {
    const { upstream, bench } = await start(
      { era: 'legacy', bearer: 'token-1234567890' },
      'token-1234567890',
    )
    await bench.review()
    await bench.call('counter_read')
    const session = upstream.requests.at(-1)?.headers['mcp-session-id']
    expect(session).toMatch(/^[0-9a-f-]{36}$/)
    await end(bench)
    await upstream.received('DELETE')
    const ended = upstream.requests.find(({ verb }) => verb === 'DELETE')
    expect(ended?.url).toBe('/mcp')
    expect(ended?.headers).toMatchObject({
      'mcp-session-id': session,
      authorization: 'Bearer token-1234567890',
      'mcp-protocol-version': '2025-11-25',
    })
    expect(upstream.deletes).toBe(1)
  },
)

test('a session is ended where it was opened, as it was opened, when everything has changed since', async () => {
  const upstream = await startUpstream({ era: 'legacy', path: '/mcp/a?team=1' })
  const [url, connectionId] = [upstream.url, 'con_0123456789abcdefghjkmnpqrs']
  const headers = [{ name: 'X-Key', value: 'first-1234567890' }]
  const bench = await Bench.start({ url, connectionId, token: 'first-token-1234567890', headers })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  await bench.call('counter_read')
  const before = upstream.requests.at(-1)?.headers
  const { key } = bench.worker
  const token = 'second-token-1234567890'
  await bench.review(sealForTest({ url, token, connectionId, revision: 2, key }))
  await upstream.received('DELETE')
  const ended = upstream.requests.find(({ verb }) => verb === 'DELETE')
  expect(ended?.url).toBe('/mcp/a?team=1')
  expect(ended?.headers).toMatchObject({
    'mcp-session-id': before?.['mcp-session-id'],
    authorization: 'Bearer first-token-1234567890',
    'x-key': 'first-1234567890',
  })
  expect(upstream.deletes).toBe(1)
})

test('a session whose server went wrong behind its first answer is ended too', async () => {
  const { upstream, bench } = await start(
    { era: 'legacy', bearer: 'token-1234567890' },
    'token-1234567890',
  )
  for (const method of ['notifications/initialized', 'tools/list']) {
    upstream.misbehave({ kind: 'status', status: 500 }, { method, times: 1 })
    const { head } = await bench.gateway.order({ connection: bench.connection })
    expect(head, method).toMatchObject({ verdict: 'not_sent', code: 'upstream_http_5xx' })
  }
  await upstream.received('DELETE', 2)
  const ended = upstream.requests.filter(({ verb }) => verb === 'DELETE')
  const ids = ended.map(({ headers }) => headers['mcp-session-id'])
  expect(new Set(ids).size).toBe(2)
  expect(ids.every((id) => /^[0-9a-f-]{36}$/.test(String(id)))).toBe(true)
  for (const { headers } of ended)
    expect(headers).toMatchObject({
      authorization: 'Bearer token-1234567890',
      'mcp-protocol-version': '2025-11-25',
    })
  expect(upstream.count('initialize')).toBe(2)
})

test('a legacy upstream without sessions is called, and has none to end', async () => {
  const { upstream, bench } = await start({ era: 'legacy', sessions: false })
  expect((await bench.review()).era).toBe('legacy')
  const { head } = await bench.call('counter_add', { by: 1 }, { access: 'write' })
  expect(head.verdict).toBe('result')
  expect(upstream.requests.at(-1)?.headers).not.toHaveProperty('mcp-session-id')
  await ends['an order to close'](bench)
  expect(upstream.deletes).toBe(0)
})

test('a modern upstream has no session to end', async () => {
  const { upstream, bench } = await start({ era: 'modern' })
  await bench.review()
  await ends['an order to close'](bench)
  expect(upstream.deletes).toBe(0)
})

test('an end that hangs holds nothing up for long and changes no result', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  await bench.review()
  upstream.misbehave({ kind: 'hang' }, { method: 'DELETE', effect: false })
  const before = performance.now()
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
  await ends['an order to close'](bench)
  expect(performance.now() - before).toBeLessThan(5_000)
})

test('a session is ended only after the calls on it', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  await bench.review()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call' })
  const { id } = bench.gateway.submit(bench.order('counter_read'))
  await upstream.received('tools/call')
  await ends.release(bench)
  bench.gateway.send('ping', { n: 1 })
  await bench.gateway.until(() => bench.gateway.of('pong').length > 0)
  expect(upstream.deletes).toBe(0)
  upstream.answerHeld()
  expect((await bench.gateway.result(id)).head.verdict).toBe('result')
  await upstream.received('DELETE')
})

test.each(['json', 'sse'] as const)(
  'requests of a legacy server are refused at once and counted: %s',
  async (reply) => {
    const { upstream, bench } = await start({
      era: 'legacy',
      reply,
      advertise: ['resources', 'prompts', 'completions', 'logging'],
    })
    const listing = await bench.review()
    expect(listing.capabilities).toEqual([
      'completions',
      'logging',
      'prompts',
      'resources',
      'tools',
    ])
    upstream.askDuringCalls = ['sampling/createMessage', 'elicitation/create', 'roots/list', 'ping']
    const { head } = await bench.call('counter_add', { by: 1 }, { access: 'write' })
    expect(head).toMatchObject({ verdict: 'result', serverRequests: 4 })
    const refused = upstream.answers.filter(({ error }) => error)
    expect(refused.map(({ error }) => (error as { code: number }).code)).toEqual([
      -32601, -32601, -32601,
    ])
    expect(upstream.answers.filter(({ result }) => result)).toHaveLength(1)
    expect(upstream.effects).toBe(1)
  },
)

test('requests on a modern channel are not answered and count as violations', async () => {
  const { upstream, bench } = await start({ era: 'modern' })
  await bench.review()
  upstream.askDuringCalls = ['sampling/createMessage', 'roots/list']
  const { head } = await bench.call('counter_read')
  expect(head).toMatchObject({ verdict: 'result', violations: 2 })
  expect(head.serverRequests).toBeUndefined()
  expect(upstream.answers).toEqual([])
})

test('a request on the standing stream of a legacy server is refused too', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  await bench.review()
  await upstream.until(() => upstream.streams > 0)
  upstream.ask('sampling/createMessage')
  await upstream.until(() => upstream.answers.length > 0)
  expect(upstream.answers[0]).toMatchObject({ error: { code: -32601 } })
})

test.each([
  ['bearer', { bearer: 'token-1234567890' }, { token: 'token-1234567890' }],
  [
    'headers',
    { headers: { 'x-api-key': 'key-1234567890', 'x-org': 'Grüße' } },
    {
      headers: [
        { name: 'X-Api-Key', value: 'key-1234567890' },
        { name: 'X-Org', value: 'Grüße' },
      ],
    },
  ],
] as const)('the credential is shown to the upstream: %s', async (_kind, demanded, given) => {
  const headers = 'headers' in demanded ? { 'x-api-key': 'key-1234567890' } : undefined
  const upstream = await startUpstream(headers ? { headers } : demanded)
  const bench = await Bench.start({ url: upstream.url, ...given })
  open.push(upstream, { close: () => bench.stop() })
  await bench.review()
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
  if ('headers' in given) {
    const sent = upstream.requests.at(-1)?.headers['x-org'] as string
    expect(Buffer.from(sent, 'latin1').toString()).toBe('Grüße')
  }
})

test.each([
  [{ kind: 'status', status: 401 }, 'upstream_http_401'],
  [{ kind: 'status', status: 403 }, 'upstream_http_403'],
  [{ kind: 'status', status: 404 }, 'upstream_http_4xx'],
  [{ kind: 'status', status: 500 }, 'upstream_http_5xx'],
  [{ kind: 'redirect', to: 'http://127.0.0.1:1/' }, 'upstream_not_mcp'],
  [{ kind: 'cut' }, 'upstream_unreachable'],
  [{ kind: 'raw', contentType: 'text/html', body: () => '<p>' }, 'upstream_not_mcp'],
] as const)('what goes wrong while connecting keeps its class: %j', async (fault, code) => {
  const { upstream, bench } = await start()
  upstream.misbehave(fault)
  expect((await bench.gateway.order({ connection: bench.connection })).head).toMatchObject({
    verdict: 'not_sent',
    code,
  })
  expect((await bench.call('counter_read')).head).toMatchObject({ verdict: 'not_sent', code })
  upstream.behave()
  await bench.review()
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
})

test.each(['legacy', 'modern'] as const)(
  '%s: a greeting that is answered with something else is not waited for',
  async (era) => {
    const { upstream, bench } = await start({ era })
    const method = era === 'legacy' ? 'initialize' : 'server/discover'
    for (const contentType of ['application/json', 'text/event-stream']) {
      const text = '{"jsonrpc":"2.0","id":"another","result":{}}'
      const body = () => (contentType === 'application/json' ? text : `data: ${text}\n\n`)
      upstream.misbehave({ kind: 'raw', contentType, body }, { method, times: 1 })
      const before = performance.now()
      const { head } = await bench.gateway.order({ connection: bench.connection })
      expect(head).toMatchObject({ verdict: 'not_sent', code: 'upstream_not_mcp' })
      expect(performance.now() - before).toBeLessThan(8_000)
    }
    await bench.review()
  },
)

test('an upstream that is not there is unreachable', async () => {
  const { upstream, bench } = await start()
  await upstream.close()
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'upstream_unreachable' })
})

test('an older revision or credential than the one in use is refused', async () => {
  const { upstream, bench } = await start()
  const { connectionId } = bench.connection.claims
  const key = bench.worker.key
  const at = (revision: number) => sealForTest({ url: upstream.url, connectionId, revision, key })
  const credentialId = 'crd_0123456789abcdefghjkmnpqrs'
  const version = (credentialVersion: number) =>
    sealForTest({
      url: upstream.url,
      token: 'token-1234567890',
      connectionId,
      revision: 3,
      credentialId,
      credentialVersion,
      key,
    })
  await bench.review(at(2))
  const refused = { verdict: 'not_sent', code: 'connection_changed' }
  const order = async (connection: ReturnType<typeof at>) =>
    (await bench.gateway.order({ ...bench.order('counter_read'), connection })).head
  expect(await order(at(1))).toMatchObject(refused)
  expect((await order(version(2))).verdict).toBe('result')
  expect(await order(version(1))).toMatchObject(refused)
  expect((await order(version(3))).verdict).toBe('result')
  expect(await order(at(2))).toMatchObject(refused)
})
