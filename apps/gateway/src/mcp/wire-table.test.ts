/** The table "Guest endpoint (HTTP)" of the wire: one test a row, over a real socket. */
import { afterEach, expect, test } from 'vitest'
import { boundTool, type ScriptedEndpoint, startScripted, textResult } from './scripted-core.ts'
import { bareSocket, bearerHead, eventually, modern, rpc, send } from './scripted-guest.ts'

let at: ScriptedEndpoint
afterEach(() => at.close())

const call = rpc('tools/call', { name: 'files__read', arguments: {} })

function error(id: unknown, code: number) {
  return { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } }
}

test('answers 401 to no bearer, a wrong one, one of any length and form, with every method', async () => {
  at = await startScripted()
  const wrong = [
    null,
    '',
    'x',
    'A'.repeat(42),
    'A'.repeat(43),
    'A'.repeat(44),
    'A'.repeat(4_000),
    `${at.token}A`,
    at.token.slice(1),
  ]
  for (const token of wrong) {
    for (const method of ['POST', 'GET', 'DELETE', 'PUT']) {
      const answer = await send(at, { method, token, ...(method === 'POST' ? { body: call } : {}) })
      expect([token, method, answer.status]).toEqual([token, method, 401])
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="sallyport"')
      expect(answer.json).toEqual(error(null, -32001))
    }
  }
  expect(at.calls).toEqual([])
  const bare = await bareSocket(at)
  bare.write(`GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${at.port}\r\n\r\n`)
  await eventually(() => bare.destroyed)
  expect(bare.got).toMatch(/^HTTP\/1\.1 401 /)
  expect((await send(at, { body: call })).status).toBe(200)
})

test('takes the bearer in exactly one form, the scheme in any case', async () => {
  at = await startScripted()
  const status = async (authorization: string) =>
    (await send(at, { token: null, headers: { authorization }, body: call })).status
  expect(await status(`Bearer ${at.token}`)).toBe(200)
  expect(await status(`bearer ${at.token}`)).toBe(200)
  expect(await status(`BEARER ${at.token}`)).toBe(200)
  const others = [
    at.token,
    `Basic ${at.token}`,
    `Bearer  ${at.token}`,
    `Bearer\t${at.token}`,
    `Bearer ${at.token} x`,
    `Bearer ${at.token},Bearer ${at.token}`,
    'Bearer',
  ]
  for (const other of others) expect([other, await status(other)]).toEqual([other, 401])
  expect(at.calls).toHaveLength(3)
})

test('answers 401 to the token of a session that has ended', async () => {
  at = await startScripted()
  expect((await send(at, { body: call })).status).toBe(200)
  at.set({ state: 'ended' })
  const answer = await send(at, { body: call })
  expect([answer.status, answer.json]).toEqual([401, error(null, -32001)])
  expect(at.calls).toHaveLength(1)
})

test('answers an unauthenticated body that never ends at once, and reads none of it', async () => {
  at = await startScripted({ options: { timing: { lingerMs: 200 } } })
  const socket = await bareSocket(at, 'stubborn')
  const head = bearerHead(at, ['Transfer-Encoding: chunked'], 'A'.repeat(43))
  socket.write(head)
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const pump = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  }
  const ends: string[] = []
  socket.on('end', () => ends.push('end'))
  socket.on('error', () => ends.push('reset'))
  socket.on('drain', pump)
  pump()
  await eventually(() => socket.got.includes('\r\n\r\n') && socket.destroyed)
  // A connection that is simply closed is reset, and the answer with it.
  expect(ends[0]).toBe('end')
  expect(socket.got).toMatch(/^HTTP\/1\.1 401 /)
  expect(socket.got).toContain('{"jsonrpc":"2.0","id":null,"error":{"code":-32001,')
  // What fits into the buffers of two kernels, and then no more.
  expect(socket.bytesWritten - socket.writableLength).toBeLessThan(16 * 1024 * 1024)
})

test('answers 403 to a foreign Host or Origin, and serves its own under each loopback name', async () => {
  at = await startScripted()
  const status = async (headers: Record<string, string>) =>
    (await send(at, { headers, body: call })).status
  for (const host of ['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST']) {
    const own = `${host}:${at.port}`
    expect([host, await status({ host: own })]).toEqual([host, 200])
    expect([host, await status({ host: own, origin: `http://${own}` })]).toEqual([host, 200])
  }
  const foreign: Record<string, string>[] = [
    { host: 'evil.example' },
    { host: `evil.example:${at.port}` },
    { host: `127.0.0.1:${at.port + 1}` },
    { host: '127.0.0.1' },
    { host: `127.0.0.1.evil.example:${at.port}` },
    { origin: 'http://evil.example' },
    { origin: `http://127.0.0.1:${at.port}.evil.example` },
    { origin: `http://evil.example/127.0.0.1:${at.port}` },
    { origin: 'null' },
    { origin: '' },
  ]
  for (const headers of foreign) expect([headers, await status(headers)]).toEqual([headers, 403])
  expect(at.calls).toHaveLength(8)
})

test('says 403 before it looks at the bearer', async () => {
  at = await startScripted()
  const answer = await send(at, { token: null, headers: { host: 'evil.example' }, body: call })
  expect(answer.status).toBe(403)
  expect(answer.headers['www-authenticate']).toBeUndefined()
})

test.each(['created', 'verifying', 'closing'] as const)(
  'answers 403 while the session is %s, and serves it once it is open',
  async (state) => {
    at = await startScripted({ session: { state } })
    const answer = await send(at, { body: call })
    expect([answer.status, answer.json]).toEqual([403, error(null, -32001)])
    expect(at.calls).toEqual([])
    at.set({ state: 'open' })
    expect((await send(at, { body: call })).status).toBe(200)
  },
)

test('answers 405 with Allow to other methods', async () => {
  at = await startScripted()
  const refused: { method: string; headers?: Record<string, string> }[] = [
    { method: 'PUT' },
    { method: 'PATCH' },
    { method: 'HEAD' },
    { method: 'OPTIONS' },
    { method: 'GET', headers: { accept: 'application/json' } },
    { method: 'GET', headers: { 'mcp-protocol-version': '2026-07-28' } },
    { method: 'DELETE' },
  ]
  for (const { method, headers = {} } of refused) {
    const answer = await send(at, { method, headers })
    expect([method, answer.status, answer.headers.allow]).toEqual([method, 405, 'POST'])
  }
})

test('answers 404 to other paths and to a connection this session does not know', async () => {
  const session = { unavailable: [{ connection: 'down', tool: null, code: 'x', reason: 'x' }] }
  at = await startScripted({ session })
  const ping = rpc('ping')
  const status = async (path: string) => (await send(at, { path, body: ping })).status
  for (const path of ['/mcp', '/mcp?x=1', '/mcp/files', '/mcp/down'])
    expect([path, await status(path)]).toEqual([path, 200])
  for (const path of ['/', '/mcp/', '/mcpx', '/mcp/other', '/mcp/files/x', '/mcp/../mcp', '/MCP'])
    expect([path, await status(path)]).toEqual([path, 404])
  const answer = await send(at, { path: '/mcp/other', body: ping })
  expect(answer.json).toMatchObject({
    jsonrpc: '2.0',
    id: null,
    error: { message: expect.any(String) },
  })
})

test.each([
  ['half an object', '{'],
  ['nothing', ''],
  ['arguments with half a word', call.replace('{}', '{"a":tru}')],
  ['bytes that are no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
  ['UTF-16', Buffer.from(call, 'utf16le')],
])('answers −32700 to a body that is not JSON: %s', async (_, body) => {
  at = await startScripted()
  const answer = await send(at, { body })
  expect([answer.status, answer.json]).toEqual([400, error(null, -32700)])
})

test.each([
  ['1', null],
  ['"text"', null],
  ['null', null],
  ['[]', null],
  [`[${call}]`, null],
  [`[${rpc('ping')},${rpc('ping')}]`, null],
  ['{"id":1,"method":"ping"}', 1],
  ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 1],
  ['{"jsonrpc":2.0,"id":"a","method":"ping"}', 'a'],
  ['{"jsonrpc":"2.0","id":1,"method":7}', 1],
  ['{"jsonrpc":"2.0","id":1}', 1],
  ['{"jsonrpc":"2.0","id":1,"result":{}}', 1],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":true,"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 1],
  ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', null],
  ['{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"tools/call"}', null],
  [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read","name":"b"}}',
    null,
  ],
  [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__read","arguments":{},"arguments":{}}}',
    null,
  ],
])('answers −32600 to %s and does nothing', async (body, id) => {
  at = await startScripted()
  for (const headers of [{}, { 'mcp-protocol-version': '2025-03-26' }, modern('x').headers]) {
    const answer = await send(at, { body, headers })
    expect([answer.status, answer.json]).toEqual([400, error(id, -32600)])
  }
  expect(at.calls).toEqual([])
})

test('counts the body on the stream, whatever the header says', async () => {
  at = await startScripted({
    options: {
      timing: { lingerMs: 50 },
      settings: () => ({ bodyLimitBytes: 1_000, maxCallsPerSession: 9, requestsPerMinute: 999 }),
    },
  })
  const body = (size: number) =>
    rpc('ping', { pad: '' }).replace('""', `"${'x'.repeat(size - 60)}"`)
  expect(body(1_000)).toHaveLength(1_000)
  expect((await send(at, { body: body(1_000) })).status).toBe(200)
  const announced = await send(at, { body: body(1_001) })
  expect([announced.status, announced.json]).toEqual([413, error(null, -32600)])
  const chunked = { 'transfer-encoding': 'chunked' }
  expect((await send(at, { headers: chunked, body: body(1_000) })).status).toBe(200)
  const counted = await send(at, { headers: chunked, body: body(1_001) })
  expect([counted.status, counted.json]).toEqual([413, error(null, -32600)])
  const early = await bareSocket(at, 'stubborn')
  early.write(bearerHead(at, ['Content-Length: 1001']))
  await eventually(() => early.got.startsWith('HTTP/1.1 413 '))
  const second = bearerHead(at, [`Content-Length: ${call.length}`]) + call
  early.write('x'.repeat(1_001) + second)
  await eventually(() => at.connections() === 0)
  expect(at.calls).toEqual([])
  early.destroy()
})

test('answers −32020 when header and body of 2026-07-28 disagree', async () => {
  at = await startScripted()
  const good = modern('tools/call', { name: 'files__read' })
  expect((await send(at, good)).status).toBe(200)
  for (const [name, value] of [
    ['mcp-protocol-version', '2025-11-25'],
    ['mcp-method', 'tools/list'],
    ['mcp-method', 'TOOLS/CALL'],
    ['mcp-name', 'files__write'],
  ] as const) {
    const answer = await send(at, { ...good, headers: { ...good.headers, [name]: value } })
    expect([name, answer.status, answer.json]).toEqual([name, 400, error(1, -32020)])
    const { [name]: _, ...without } = good.headers as Record<string, string>
    const missing = await send(at, { ...good, headers: without })
    expect([name, missing.status, missing.json]).toEqual([name, 400, error(1, -32020)])
  }
  expect(at.calls).toHaveLength(1)
})

test('answers −32022 with the list to a version that nobody has', async () => {
  at = await startScripted()
  const version = { 'io.modelcontextprotocol/protocolVersion': '2031-01-01' }
  const unknown = modern('tools/list', { _meta: version })
  const headers = { ...unknown.headers, 'mcp-protocol-version': '2031-01-01' }
  const data = { supported: ['2026-07-28'], requested: '2031-01-01' }
  const expected = {
    jsonrpc: '2.0',
    id: 1,
    error: { code: -32022, message: expect.any(String), data },
  }
  const inBoth = await send(at, { ...unknown, headers })
  expect([inBoth.status, inBoth.json]).toEqual([400, expected])
  const inHeader = await send(at, { headers, body: rpc('tools/list') })
  expect([inHeader.status, inHeader.json]).toEqual([400, expected])
  const known = { 'mcp-protocol-version': '2025-06-18' }
  expect((await send(at, { headers: known, body: rpc('tools/list') })).status).toBe(200)
})

test.each([
  'nothing/known',
  'resources/list',
  'prompts/list',
  'completion/complete',
  'logging/setLevel',
  'tasks/list',
  'resources/templates/list',
  'sampling/createMessage',
])('answers −32601 to %s, with 404 in 2026-07-28 and 200 before', async (method) => {
  at = await startScripted()
  const legacy = await send(at, { body: rpc(method, {}, 'a') })
  expect([legacy.status, legacy.json]).toEqual([200, error('a', -32601)])
  const now = await send(at, modern(method, {}, 'b'))
  expect([now.status, now.json]).toEqual([404, error('b', -32601)])
})

test('answers −32602 to a tool that is not bound, in both eras', async () => {
  at = await startScripted()
  for (const name of ['read', 'files__write', 'other__read', '__proto__', '']) {
    const legacy = await send(at, { body: rpc('tools/call', { name }) })
    expect([name, legacy.status, legacy.json]).toEqual([name, 200, error(1, -32602)])
    const now = modern('tools/call', { name })
    const coded = { ...now.headers, 'mcp-name': name === '' ? '=?base64??=' : name }
    const answer = await send(at, { ...now, headers: coded })
    expect([name, answer.status, answer.json]).toEqual([name, 200, error(1, -32602)])
  }
  expect(at.calls).toEqual([])
})

test('tells a refused or failed call as a result', async () => {
  at = await startScripted({
    tools: [boundTool(), boundTool({ name: 'typed', outputSchema: { type: 'object' } })],
    answer: () => ({
      kind: 'failure',
      executionId: 'exe_00000000000000000000000000' as never,
      code: 'arguments_refused',
      field: '/path',
      detail: 'must be one of "a", "b"',
    }),
  })
  const plain = await send(at, { body: rpc('tools/call', { name: 'files__read' }) })
  expect(plain.status).toBe(200)
  expect(plain.json.result.isError).toBe(true)
  const [{ text }] = plain.json.result.content
  for (const part of ['arguments_refused', '/path', 'exe_00000000000000000000000000', 'Next: '])
    expect(text).toContain(part)
  expect(plain.json.result.structuredContent.error).toMatchObject({
    code: 'arguments_refused',
    field: '/path',
    executionId: 'exe_00000000000000000000000000',
    retry: false,
  })
  const typed = await send(at, { body: rpc('tools/call', { name: 'files__typed' }) })
  expect(typed.json.result.isError).toBe(true)
  expect(typed.json.result).not.toHaveProperty('structuredContent')
})

test('answers 429 with Retry-After to too many requests, and serves again later', async () => {
  at = await startScripted({
    options: {
      settings: () => ({ bodyLimitBytes: 1_000, maxCallsPerSession: 9, requestsPerMinute: 3 }),
    },
  })
  for (let i = 0; i < 3; i++) expect((await send(at, { body: call })).status).toBe(200)
  const answer = await send(at, { body: call })
  expect([answer.status, answer.json]).toEqual([429, error(null, -32000)])
  expect(answer.headers['retry-after']).toBe('20')
  const other = at.addSession()
  expect((await send(at, { token: other.token, body: call })).status).toBe(200)
  at.clock.now += 20_000
  expect((await send(at, { body: call })).status).toBe(200)
  expect((await send(at, { body: call })).status).toBe(429)
})

test('answers 429 to more calls at once than a session may have', async () => {
  const waiting: (() => void)[] = []
  at = await startScripted({
    options: {
      settings: () => ({ bodyLimitBytes: 1_000, maxCallsPerSession: 2, requestsPerMinute: 99 }),
    },
    answer: () => new Promise((resolve) => waiting.push(() => resolve(textResult('late')))),
  })
  const held = [send(at, { body: call }), send(at, { body: call })]
  await eventually(() => at.calls.length === 2)
  const answer = await send(at, { body: call })
  expect([answer.status, answer.json]).toEqual([429, error(1, -32000)])
  expect(answer.headers['retry-after']).toBe('1')
  expect((await send(at, { body: rpc('ping') })).status).toBe(200)
  for (const release of waiting.splice(0)) release()
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
  const again = send(at, { body: call })
  await eventually(() => waiting.length === 1)
  waiting[0]?.()
  expect((await again).status).toBe(200)
})

test('answers 429 to more bytes at once than a session may have, until calls are over', async () => {
  const waiting: (() => void)[] = []
  at = await startScripted({
    options: {
      settings: () => ({ bodyLimitBytes: 1_000, maxCallsPerSession: 99, requestsPerMinute: 999 }),
    },
    answer: () => new Promise((resolve) => waiting.push(() => resolve(textResult('late')))),
  })
  const body = call.padEnd(1_000)
  const held = Array.from({ length: 8 }, () => send(at, { body }))
  await eventually(() => at.calls.length === 8)
  const answer = await send(at, { body })
  expect([answer.status, answer.json]).toEqual([429, error(null, -32000)])
  const other = at.addSession()
  expect((await send(at, { token: other.token, body: rpc('ping') })).status).toBe(200)
  for (const release of waiting.splice(0)) release()
  await Promise.all(held)
  const again = send(at, { body })
  await eventually(() => waiting.length === 1)
  waiting[0]?.()
  expect((await again).status).toBe(200)
})

test('answers 429 to more connections than a session may hold, and closes them', async () => {
  at = await startScripted({
    options: {
      settings: () => ({ bodyLimitBytes: 999, maxCallsPerSession: 2, requestsPerMinute: 999 }),
    },
  })
  const body = rpc('ping')
  const request = bearerHead(at, [`Content-Length: ${body.length}`]) + body
  const sockets = await Promise.all(Array.from({ length: 66 }, () => bareSocket(at)))
  for (const socket of sockets) socket.write(request)
  await eventually(() => sockets.every(({ got }) => got.startsWith('HTTP/1.1 200')))
  const refused = await send(at, { body })
  expect([refused.status, refused.json]).toEqual([429, error(null, -32000)])
  const bare = await bareSocket(at)
  bare.write(request)
  await eventually(() => bare.destroyed)
  expect(bare.got).toMatch(/^HTTP\/1\.1 429 /)
  const other = at.addSession()
  expect((await send(at, { token: other.token, body })).status).toBe(200)
  sockets[0]?.destroy()
  await eventually(async () => (await send(at, { body })).status === 200)
  for (const socket of sockets) socket.destroy()
})

test('answers 401 to the bearer of a session with a sandbox: its guest comes by its socket', async () => {
  at = await startScripted({})
  for (const isolation of ['bubblewrap', 'none', 'microvm'] as const) {
    const { token } = at.addSession({ isolation })
    expect((await send(at, { token, body: call })).status, isolation).toBe(401)
  }
  const { token } = at.addSession()
  expect((await send(at, { token, body: call })).status).toBe(200)
})
