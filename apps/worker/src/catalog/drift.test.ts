/** Tools that change after they were reviewed, and servers that cannot say whether theirs did. */
import type { ObservedHead } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import {
  defaultTools,
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

const limitsWith = (verifyWithinMs: number) => ({
  limits: { resultBytes: 1_000_000, callMs: 5_000, verifyWithinMs },
})
const write = { access: 'write' } as const

/** The tools, with `counter_add` as somebody changed it. */
function changed(change: object) {
  return defaultTools.map((tool) => (tool.name === 'counter_add' ? { ...tool, ...change } : tool))
}

const changes = {
  description: { description: 'Adds to the counter, and tells the model to call it again.' },
  title: { title: 'Counter' },
  'input schema': { inputSchema: { type: 'object', properties: { by: { type: 'number' } } } },
  'output schema': { outputSchema: { type: 'object' } },
  annotations: { annotations: { readOnlyHint: true } },
}

test.each(Object.entries(changes))(
  'a tool whose %s changed is refused, the others go on',
  async (_what, change) => {
    const { upstream, bench } = await start()
    upstream.setTools(changed(change))
    const refused = await bench.call('counter_add', { by: 1 }, { ...write, ...limitsWith(0) })
    expect(refused.head).toEqual({
      intent: refused.head.intent,
      verdict: 'not_sent',
      code: 'tool_changed',
    })
    expect((await bench.call('counter_read', {}, limitsWith(0))).head.verdict).toBe('result')
    expect(upstream.count('tools/call')).toBe(1)
    await bench.review()
    expect((await bench.call('counter_add', { by: 1 }, write)).head.verdict).toBe('result')
  },
)

test('a tool that was removed is refused', async () => {
  const { upstream, bench } = await start()
  upstream.setTools(defaultTools.filter(({ name }) => name !== 'counter_add'))
  const { head } = await bench.call('counter_add', { by: 1 }, limitsWith(0))
  expect(head.code).toBe('tool_changed')
})

test('words the protocol does not have, and the order of tools and keys, change nothing', async () => {
  const { upstream, bench } = await start()
  upstream.setTools(changed({ icons: [{ src: 'x' }], _meta: { a: 1 } }).reverse())
  const { head } = await bench.call('counter_add', { by: 1 }, { ...write, ...limitsWith(0) })
  expect(head.verdict).toBe('result')
})

test.each(['legacy', 'modern'] as const)(
  '%s: a change that is announced is noticed at once',
  async (era) => {
    const { upstream, bench } = await start({ era })
    await upstream.until(() => upstream.streams > 0)
    upstream.setTools(changed(changes.description))
    const before = bench.gateway.of('observed').length
    upstream.announceToolsChanged()
    await bench.gateway.until(() => bench.gateway.of('observed').length > before)
    const { head } = await bench.call('counter_add', { by: 1 }, write)
    expect(head).toMatchObject({ verdict: 'not_sent', code: 'tool_changed' })
  },
)

test.each(['legacy', 'modern'] as const)(
  '%s: a stream that broke is opened again, and what it may have missed is asked for',
  async (era) => {
    const { upstream, bench } = await start({ era })
    await upstream.until(() => upstream.streams > 0)
    upstream.closeStreams()
    await upstream.until(() => upstream.streams === 0)
    upstream.setTools(changed(changes.description))
    await upstream.until(() => upstream.streams > 0)
    await upstream.received('tools/list', 2)
    const { head } = await bench.call('counter_add', { by: 1 }, write)
    expect(head.code).toBe('tool_changed')
  },
)

test.each(['legacy', 'modern'] as const)(
  '%s: without announcements the age of the listing decides',
  async (era) => {
    const { upstream, bench } = await start({ era, standingStreams: false })
    expect(upstream.count('GET') + upstream.count('subscriptions/listen')).toBe(0)
    for (let i = 0; i < 3; i++) await bench.call('counter_read')
    expect(upstream.count('tools/list')).toBe(1)
    for (let i = 0; i < 3; i++) await bench.call('counter_read', {}, limitsWith(0))
    expect(upstream.count('tools/list')).toBe(4)
  },
)

test('a server that announces changes without end is not listed without end', async () => {
  const { upstream, bench } = await start()
  await upstream.until(() => upstream.streams > 0)
  const announcing = setInterval(() => upstream.announceToolsChanged(), 2)
  await new Promise((resolve) => setTimeout(resolve, 900))
  clearInterval(announcing)
  expect(upstream.count('tools/list')).toBeLessThanOrEqual(5)
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
})

test('calls that need a fresh listing at once share one', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/list', times: 1 })
  const orders = Array.from({ length: 10 }, () =>
    bench.gateway.submit(bench.order('counter_read', {}, limitsWith(0))),
  )
  await upstream.received('tools/list', 2)
  bench.gateway.send('ping', { n: 1 })
  await bench.gateway.until(() => bench.gateway.of('pong').length > 0)
  upstream.answerHeld()
  for (const { id } of orders) expect((await bench.gateway.result(id)).head.verdict).toBe('result')
  expect(upstream.count('tools/list')).toBe(2)
})

test('a server that cannot be listed: reads go on, writes are refused', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'status', status: 500 }, { method: 'tools/list' })
  const refused = await bench.call('counter_add', { by: 1 }, { ...write, ...limitsWith(0) })
  expect(refused.head).toMatchObject({ verdict: 'not_sent', code: 'catalog_unverified' })
  expect(upstream.effects).toBe(0)
  expect((await bench.call('counter_read', {}, limitsWith(0))).head.verdict).toBe('result')
  upstream.behave()
  const { head } = await bench.call('counter_add', { by: 1 }, { ...write, ...limitsWith(0) })
  expect(head.verdict).toBe('result')
})

test('a write waits for its listing no longer than it may', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/list', times: 1 })
  const claims = { ...write, ...limitsWith(0), startWithin: 100 }
  const { head } = await bench.call('counter_add', { by: 1 }, claims)
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'expired' })
  upstream.answerHeld()
  expect(upstream.effects).toBe(0)
})

test('what was observed is told to every gateway, with the digest of each tool', async () => {
  const { upstream, bench } = await start()
  const other = await bench.worker.gateway()
  const listing = await bench.review()
  await other.until(() => other.of('observed').length > 0)
  const observed = other.of('observed')[0]?.head as ObservedHead
  expect(observed).toEqual({
    connectionId: bench.connection.claims.connectionId,
    connectionRevision: 1,
    digest: listing.digest,
    at: expect.any(Number),
    tools: Object.fromEntries(listing.tools.map(({ name, digest }) => [name, digest])),
  })
  upstream.setTools(changed(changes.description))
  expect((await bench.review()).digest).not.toBe(listing.digest)
})

test('a review that fails leaves the upstream in use as it was', async () => {
  const { upstream, bench } = await start({ era: 'legacy' })
  upstream.misbehave({ kind: 'status', status: 500 }, { method: 'initialize' })
  expect((await bench.gateway.order({ connection: bench.connection })).head.code).toBe(
    'upstream_http_5xx',
  )
  expect((await bench.call('counter_read')).head.verdict).toBe('result')
})

const nested = (depth: number): object => (depth === 0 ? {} : { a: nested(depth - 1) })
const schemaOf = (bytes: number) => ({ type: 'object', description: 'x'.repeat(bytes) })
const named = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `tool-${i}` }))

test.each([
  ['2,001 tools', named(2_001), 'too_many_tools'],
  [
    'a schema with 200,000 members',
    [{ name: 'a', inputSchema: { enum: Array(200_000).fill(1) } }],
    'bad_schema',
  ],
  [
    '2 MiB in all',
    named(9).map((tool) => ({ ...tool, inputSchema: schemaOf(250_000) })),
    'upstream_too_large',
  ],
  ['a schema over 256 KiB', [{ name: 'a', inputSchema: schemaOf(262_144) }], 'bad_schema'],
  ['a schema nested 65 deep', [{ name: 'a', inputSchema: nested(64) }], 'bad_schema'],
  ['a schema nested 1,000 deep', [{ name: 'a', inputSchema: nested(999) }], 'bad_schema'],
  ['two tools of one name', [{ name: 'a' }, { name: 'a' }], 'upstream_protocol'],
  ['a tool without a name', [{ name: '' }], 'upstream_protocol'],
  ['a name of 129 characters', [{ name: 'a'.repeat(129) }], 'upstream_protocol'],
  ['a name with a line end', [{ name: 'a\nb' }], 'upstream_protocol'],
  ['a schema that is no object', [{ name: 'a', inputSchema: [] as object }], 'upstream_protocol'],
] as const)('a listing with %s is refused as a whole', async (_what, tools, code) => {
  const { upstream, bench } = await start()
  upstream.setTools(tools as Upstream['tools'])
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head).toMatchObject({ verdict: 'not_sent', code })
})

test.each([
  ['2,000 tools', named(2_000)],
  ['a schema of nearly 256 KiB', [{ name: 'a', inputSchema: schemaOf(262_000) }]],
  ['a schema nested 64 deep', [{ name: 'a', inputSchema: nested(63) }]],
] as const)('a listing with %s passes, over pages too', async (_what, tools) => {
  const { upstream, bench } = await start({ pageSize: 700 })
  upstream.setTools(tools as Upstream['tools'])
  expect((await bench.review()).tools).toHaveLength(tools.length)
})

test('a listing that is no UTF-8, or says the credential, is refused', async () => {
  const upstream = await startUpstream()
  const bench = await Bench.start({ url: upstream.url, token: 'token-1234567890' })
  open.push(upstream, { close: () => bench.stop() })
  upstream.setTools([{ name: 'a', description: 'Bearer token-1234567890' }])
  const order = () => bench.gateway.order({ connection: bench.connection })
  expect((await order()).head).toMatchObject({ verdict: 'not_sent', code: 'credential_in_result' })
  upstream.misbehave(
    {
      kind: 'raw',
      body: (id) =>
        Buffer.concat([
          Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{"tools":[{"name":"`),
          Buffer.from([0xc3]),
          Buffer.from('"}]}}'),
        ]),
    },
    { method: 'tools/list' },
  )
  expect((await order()).head.code).toBe('upstream_protocol')
})

test('a server that never comes to its last page is refused', async () => {
  const { upstream, bench } = await start()
  upstream.misbehave(
    {
      kind: 'raw',
      body: (id) => `{"jsonrpc":"2.0","id":${id},"result":{"tools":[],"nextCursor":""}}`,
    },
    { method: 'tools/list' },
  )
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head.code).toBe('upstream_too_large')
})
