import { afterEach, expect, test } from 'vitest'
import { boundTool, result, type ScriptedEndpoint, startScripted } from './scripted-core.ts'
import { modern, rpc, send } from './scripted-guest.ts'

let at: ScriptedEndpoint
afterEach(() => at.close())

const identity = {
  'io.modelcontextprotocol/serverInfo': { name: 'sallyport', title: 'Sallyport', version: '9.9.9' },
}

async function initialize(protocolVersion: unknown, headers: Record<string, string> = {}) {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  return send(at, { body: rpc('initialize', params), headers })
}

test.each([
  ['2025-11-25', '2025-11-25'],
  ['2025-06-18', '2025-06-18'],
  ['2025-03-26', '2025-03-26'],
  ['2024-11-05', '2024-11-05'],
  ['2026-07-28', '2025-11-25'],
  ['1999-01-01', '2025-11-25'],
])('initialize for %s settles on %s and offers tools alone', async (asked, settled) => {
  at = await startScripted()
  const answer = await initialize(asked)
  expect(answer.status).toBe(200)
  expect(answer.json).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      protocolVersion: settled,
      capabilities: { tools: { listChanged: true } },
      serverInfo: { name: 'sallyport', title: 'Sallyport', version: '9.9.9' },
    },
  })
  expect(answer.headers['mcp-session-id']).toMatch(/^[\x21-\x7e]{66}$/)
})

test('initialize takes any legacy version header and needs a version in its parameters', async () => {
  at = await startScripted()
  expect((await initialize('2025-06-18', { 'mcp-protocol-version': '1999-01-01' })).status).toBe(
    200,
  )
  expect((await initialize(7)).json.error.code).toBe(-32602)
})

test('a session id holds for its own session, also on another gateway, and for nobody else', async () => {
  at = await startScripted()
  const id = (await initialize('2025-11-25')).headers['mcp-session-id'] as string
  const status = async (endpoint: ScriptedEndpoint, value: string, token = endpoint.token) => {
    const headers = { 'mcp-session-id': value, 'mcp-protocol-version': '2025-11-25' }
    return (await send(endpoint, { token, headers, body: rpc('ping') })).status
  }
  expect(await status(at, id)).toBe(200)
  expect(await status(at, id)).toBe(200)
  const other = at.addSession()
  expect(await status(at, id, other.token)).toBe(404)
  const tampered = (id.startsWith('A') ? 'B' : 'A') + id.slice(1)
  for (const foreign of ['x', '', `${id}x`, tampered, `${id.slice(0, 23)}${'A'.repeat(43)}`])
    expect([foreign, await status(at, foreign)]).toEqual([foreign, 404])
  const restarted = await startScripted()
  expect(await status(restarted, id)).toBe(200)
  await restarted.close()
  const otherKey = await startScripted({ options: { macKey: Buffer.alloc(32, 8) } })
  expect(await status(otherKey, id)).toBe(404)
  await otherKey.close()
})

test('a lost session is 404 with a body that tells to initialize again; none at all is fine', async () => {
  at = await startScripted()
  const lost = await send(at, { headers: { 'mcp-session-id': 'lost' }, body: rpc('tools/list') })
  expect([lost.status, lost.json.id, lost.json.error.code]).toEqual([404, 1, -32001])
  const notice = {
    headers: { 'mcp-session-id': 'lost' },
    body: '{"jsonrpc":"2.0","method":"notifications/initialized"}',
  }
  expect((await send(at, notice)).status).toBe(404)
  expect((await send(at, { body: rpc('tools/list') })).status).toBe(200)
})

test('DELETE ends a session id, which is unknown from then on', async () => {
  at = await startScripted()
  const id = (await initialize('2025-11-25')).headers['mcp-session-id'] as string
  const headers = { 'mcp-session-id': id }
  expect((await send(at, { headers, body: rpc('ping') })).status).toBe(200)
  expect((await send(at, { method: 'DELETE', headers })).status).toBe(204)
  expect((await send(at, { headers, body: rpc('ping') })).status).toBe(404)
  expect((await send(at, { method: 'DELETE', headers })).status).toBe(404)
  expect((await initialize('2025-11-25', headers)).status).toBe(200)
})

test('accepts notifications with 202 and no body', async () => {
  at = await startScripted()
  const bodies = ['initialized', 'cancelled', 'roots/list_changed', 'unheard/of']
  for (const name of bodies) {
    for (const headers of [{}, { 'mcp-protocol-version': '2026-07-28' }]) {
      const body = `{"jsonrpc":"2.0","method":"notifications/${name}"}`
      const answer = await send(at, { headers, body })
      expect([name, answer.status, answer.text]).toEqual([name, 202, ''])
    }
  }
  const call = '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"files__read"}}'
  expect((await send(at, { body: call })).status).toBe(202)
  expect(at.calls).toEqual([])
})

test('ping is of the legacy eras alone, server/discover of 2026-07-28 alone', async () => {
  at = await startScripted()
  expect((await send(at, { body: rpc('ping') })).json.result).toEqual({})
  for (const method of ['ping', 'initialize', 'resources/subscribe'])
    expect((await send(at, modern(method))).status).toBe(404)
  expect((await send(at, { body: rpc('server/discover') })).json.error.code).toBe(-32601)
  expect((await send(at, { body: rpc('subscriptions/listen') })).json.error.code).toBe(-32601)
  expect((await send(at, modern('server/discover'))).json).toEqual({
    jsonrpc: '2.0',
    id: 1,
    result: {
      resultType: 'complete',
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: { listChanged: true } },
      ttlMs: 3_600_000,
      cacheScope: 'private',
      _meta: identity,
    },
  })
})

const version = 'io.modelcontextprotocol/protocolVersion'
const clientCapabilities = 'io.modelcontextprotocol/clientCapabilities'
const now = '2026-07-28'

test.each([
  ['nothing', undefined, undefined, 200, undefined],
  ['a legacy header', '2025-03-26', undefined, 200, undefined],
  ['a legacy version in both', '2025-11-25', { [version]: '2025-11-25' }, 200, undefined],
  ['both', now, { [version]: now, [clientCapabilities]: {} }, 200, undefined],
  ['no _meta', now, undefined, 400, -32602],
  ['an empty _meta', now, {}, 400, -32602],
  ['no version in _meta', now, { [clientCapabilities]: {} }, 400, -32602],
  ['no capabilities', now, { [version]: now }, 400, -32602],
  ['capabilities of another type', now, { [version]: now, [clientCapabilities]: [] }, 400, -32602],
  ['a version that is no string', now, { [version]: 1, [clientCapabilities]: {} }, 400, -32020],
  ['another version in _meta', now, { [version]: 'v9', [clientCapabilities]: {} }, 400, -32020],
  [
    'a legacy one in the header',
    '2025-11-25',
    { [version]: now, [clientCapabilities]: {} },
    400,
    -32020,
  ],
  ['no header', undefined, { [version]: now, [clientCapabilities]: {} }, 400, -32020],
  ['an unknown one in the header', '2031-01-01', undefined, 400, -32022],
  ['an unknown one in _meta', undefined, { [version]: '2031-01-01' }, 400, -32022],
  ['an unknown one in both', '2031-01-01', { [version]: '2031-01-01' }, 400, -32022],
  ['two unknown ones', '2031-01-01', { [version]: '2032-01-01' }, 400, -32020],
])('reads the era from %s', async (_, header, _meta, status, code) => {
  at = await startScripted()
  const headers = {
    'mcp-method': 'tools/list',
    ...(header === undefined ? {} : { 'mcp-protocol-version': header }),
  }
  const answer = await send(at, { headers, body: rpc('tools/list', { _meta }) })
  expect([answer.status, answer.json.error?.code]).toEqual([status, code])
  if (status === 200) expect('ttlMs' in answer.json.result).toBe(header === now)
})

test('ignores a session id in 2026-07-28', async () => {
  at = await startScripted()
  const request = modern('tools/list')
  const headers = { ...request.headers, 'mcp-session-id': 'lost' }
  const answer = await send(at, { ...request, headers })
  expect([answer.status, answer.headers['mcp-session-id']]).toEqual([200, undefined])
})

test('lists what may be called, in order, as it was reviewed, under the names of the path', async () => {
  const annotations = { readOnlyHint: true, 'x-odd': [1] }
  const inputSchema = { type: 'object', properties: { path: { type: 'string', maxLength: 9 } } }
  const outputSchema = { type: 'object', properties: { n: { type: 'integer' } } }
  const full = { title: 'Read', description: 'Reads.', inputSchema, outputSchema, annotations }
  const tools = [
    boundTool({ connection: 'files', name: 'list' }),
    boundTool({ connection: 'files', name: 'read', ...full }),
    boundTool({ connection: 'mail', name: 'read', outputSchema: { type: 'array' } }),
  ]
  at = await startScripted({ tools })
  const plain = { inputSchema: { type: 'object' } }
  const all = await send(at, { body: rpc('tools/list') })
  expect(all.json.result).toEqual({
    tools: [
      { name: 'files__list', ...plain },
      { name: 'files__read', ...full },
      { name: 'mail__read', ...plain },
    ],
  })
  const one = await send(at, { ...modern('tools/list'), path: '/mcp/mail' })
  expect(one.json.result).toEqual({
    resultType: 'complete',
    tools: [{ name: 'read', ...plain, outputSchema: { type: 'array' } }],
    ttlMs: 60_000,
    cacheScope: 'private',
    _meta: identity,
  })
  at.set({ callable: [tools[2], tools[0]] as typeof tools })
  const fewer = await send(at, { body: rpc('tools/list') })
  const names = fewer.json.result.tools.map(({ name }: { name: string }) => name)
  expect(names).toEqual(['files__list', 'mail__read'])
})

test('remembers of each session which tools it has asked to see', async () => {
  const tools = ['files', 'mail'].map((connection) => boundTool({ connection }))
  at = await startScripted({ tools })
  const { session } = at.addSession()
  const other = at.addSession()
  const shown = (id: typeof session.id) => [...(at?.endpoint.shown(id) ?? [])]
  expect(shown(other.session.id)).toEqual([])
  await send(at, { ...modern('tools/list'), path: '/mcp/mail', token: other.token })
  expect(shown(other.session.id)).toEqual(['mail__read'])
  await send(at, { body: rpc('tools/list'), token: other.token })
  expect(shown(other.session.id)).toEqual(['mail__read', 'files__read'])
  expect(shown(session.id)).toEqual([])
})

test('gives five hundred tools a page, and takes only its own cursors', async () => {
  const tools = Array.from({ length: 1_100 }, (_, n) => boundTool({ name: `t${1_000 + n}` }))
  at = await startScripted({ tools })
  const seen: string[] = []
  let cursor: string | undefined
  for (let page = 0; page < 3; page++) {
    const { result } = (await send(at, { body: rpc('tools/list', { cursor }) })).json
    seen.push(...result.tools.map(({ name }: { name: string }) => name))
    cursor = result.nextCursor
    expect(typeof cursor).toBe(page < 2 ? 'string' : 'undefined')
  }
  expect(seen).toEqual(tools.map(({ binding }) => `files__${binding.exposedName}`))
  for (const bad of ['', 'x', 'bm9wZQ', 'W10', 'WzEsMl0', 7, null, '=', 'a'.repeat(600)]) {
    for (const request of [
      { body: rpc('tools/list', { cursor: bad }) },
      modern('tools/list', { cursor: bad }),
    ]) {
      const answer = await send(at, request)
      expect([bad, answer.status, answer.json.error?.code]).toEqual([bad, 200, -32602])
    }
  }
})

test.each([
  ['{"content":[]}', '{"resultType":"complete","content":[]}'],
  ['{"resultType":"complete","content":[]}', '{"resultType":"complete","content":[]}'],
  ['{"content":[],"resultType":"other"}', '{"content":[],"resultType":"other"}'],
  [
    '{"structuredContent":{"resultType":1}}',
    '{"resultType":"complete","structuredContent":{"resultType":1}}',
  ],
  [
    '{"content":[{"type":"text","text":"\\"resultType\\":"}]}',
    '{"resultType":"complete","content":[{"type":"text","text":"\\"resultType\\":"}]}',
  ],
  ['{}', '{"resultType":"complete"}'],
  [' {\n } ', ' {"resultType":"complete"\n } '],
  [
    '{"n":1.0,"big":12345678901234567890,"e":1E3}',
    '{"resultType":"complete","n":1.0,"big":12345678901234567890,"e":1E3}',
  ],
])(
  'passes the result %s on byte for byte, with its type where the era has types',
  async (raw, typed) => {
    at = await startScripted({ answer: () => result(Buffer.from(raw)) })
    const legacy = await send(at, { body: rpc('tools/call', { name: 'files__read' }, 'a"b') })
    expect(legacy.text).toBe(`{"jsonrpc":"2.0","id":"a\\"b","result":${raw}}`)
    const answer = await send(at, modern('tools/call', { name: 'files__read' }))
    expect(answer.text).toBe(`{"jsonrpc":"2.0","id":1,"result":${typed}}`)
  },
)
