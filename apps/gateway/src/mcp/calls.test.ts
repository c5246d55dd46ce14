import type { CallOutcome, CallRequest } from '@sallyport/core'
import { afterEach, expect, test } from 'vitest'
import {
  boundTool,
  result,
  type Script,
  type ScriptedEndpoint,
  startScripted,
  textResult,
} from './scripted-core.ts'
import {
  bareCall,
  bareSocket,
  bearerHead,
  eventually,
  modern,
  openStream,
  rpc,
  send,
} from './scripted-guest.ts'

let at: ScriptedEndpoint
afterEach(() => at.close())

const json = { accept: 'application/json' }

/** Calls wait until the test answers them. */
async function startHeld(options: Script['options'] = {}) {
  const held: ((outcome: CallOutcome) => void)[] = []
  at = await startScripted({
    options,
    answer: () => new Promise((resolve) => held.push(resolve)),
  })
  return held
}

function callWith(arguments_: string, extra = '') {
  return `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"files__read"${arguments_}${extra}}}`
}

test('hands the arguments on as the very text that came', async () => {
  at = await startScripted()
  const texts = [
    '{ "b":1.0,\n"a" : 1e0,"big":12345678901234567890 }',
    '{"a":1,"a":2}',
    'null',
    '[1]',
    '{"é":"\\ud800"}',
  ]
  for (const text of texts) await send(at, { body: callWith(`,"arguments":${text}`) })
  await send(at, { body: callWith('') })
  expect(at.calls.map(({ argumentsText }) => argumentsText)).toEqual([...texts, '{}'])
})

test('hands on nothing else of the guest but the session, the tool and a call id', async () => {
  at = await startScripted()
  const _meta = { 'codex/sandbox-state': 1, progressToken: 5, traceparent: 'x' }
  await send(at, {
    headers: json,
    body: rpc('tools/call', { name: 'files__read', task: {}, _meta }),
  })
  const [call] = at.calls
  expect(Object.keys(call as object).sort()).toEqual([
    'argumentsText',
    'callId',
    'cancelled',
    'era',
    'held',
    'isCallIdOurs',
    'left',
    'session',
    'tool',
  ])
  expect(call?.tool.binding.exposedName).toBe('read')
})

test("takes the harness's own id of the call, else a random one", async () => {
  at = await startScripted()
  const ids = ['toolu_01', 'x'.repeat(128), 'x'.repeat(129), '', 7, undefined]
  for (const id of ids) {
    const _meta = { 'claudecode/toolUseId': id }
    await send(at, { body: rpc('tools/call', { name: 'files__read', _meta }) })
  }
  const [own, longest, ...random] = at.calls.map(({ callId }) => callId)
  expect([own, longest]).toEqual(['toolu_01', 'x'.repeat(128)])
  expect(new Set(random).size).toBe(4)
  for (const id of random) expect(id).toMatch(/^[0-9a-z]{8}-[A-Za-z0-9_-]{22}$/)
  const ours = at.calls.map(({ isCallIdOurs = false }) => isCallIdOurs)
  expect(ours).toEqual([false, false, true, true, true, true])
})

test('calls a tool by its own name at the path of its connection', async () => {
  at = await startScripted({ tools: [boundTool(), boundTool({ connection: 'mail' })] })
  for (const path of ['/mcp/files', '/mcp/mail'])
    expect((await send(at, { path, body: rpc('tools/call', { name: 'read' }) })).status).toBe(200)
  const body = rpc('tools/call', { name: 'mail__read' })
  expect((await send(at, { path: '/mcp/mail', body })).json.error.code).toBe(-32602)
  expect(at.calls.map(({ tool }) => tool.binding.connectionName)).toEqual(['files', 'mail'])
})

test('checks the Mcp-Param headers of the tool against its arguments, and no others', async () => {
  const paramHeaders = [
    { header: 'Region', path: ['region'] },
    { header: 'Count', path: ['page', 'count'] },
    { header: 'Deep', path: ['deep'] },
  ]
  at = await startScripted({ tools: [boundTool({ paramHeaders }), boundTool({ name: 'other' })] })
  const status = async (
    arguments_: object,
    headers: Record<string, string>,
    name = 'files__read',
  ) => {
    const request = modern('tools/call', { name, arguments: arguments_ })
    const answer = await send(at, { ...request, headers: { ...request.headers, ...headers } })
    expect(answer.json.error?.code).toBe(answer.status === 200 ? undefined : -32020)
    return answer.status
  }
  expect(await status({ region: 'eu' }, { 'mcp-param-region': 'eu' })).toBe(200)
  expect(await status({ region: 'eu' }, { 'Mcp-Param-REGION': ' eu ' })).toBe(200)
  expect(
    await status({ region: 'Zürich' }, { 'mcp-param-region': '=?base64?WsO8cmljaA==?=' }),
  ).toBe(200)
  expect(await status({ region: 'SGk=' }, { 'mcp-param-region': 'SGk=' })).toBe(200)
  expect(await status({ region: '=?base64?SGk=' }, { 'mcp-param-region': '=?base64?SGk=' })).toBe(
    200,
  )
  expect(await status({ page: { count: 42 } }, { 'mcp-param-count': '42.0' })).toBe(200)
  expect(await status({ deep: true }, { 'mcp-param-deep': 'true' })).toBe(200)
  expect(await status({ deep: [1] }, {})).toBe(200)
  expect(await status({ region: null }, {})).toBe(200)
  expect(await status({}, {})).toBe(200)
  expect(await status({ region: 'eu' }, { 'mcp-param-other': 'x' }, 'files__other')).toBe(200)
  const accepted = at.calls.length
  expect(await status({ region: 'eu' }, {})).toBe(400)
  expect(await status({ region: 'eu' }, { 'mcp-param-region': 'EU' })).toBe(400)
  expect(await status({ region: 'eu' }, { 'mcp-param-region': 'eu, eu' })).toBe(400)
  expect(await status({ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVsbG8?=' })).toBe(400)
  expect(await status({ region: 'Hello' }, { 'mcp-param-region': '=?base64?SGVs!!!bG8=?=' })).toBe(
    400,
  )
  expect(await status({ region: '=?base64?!?=' }, { 'mcp-param-region': '=?base64?!?=' })).toBe(400)
  expect(await status({ region: 'Zürich' }, { 'mcp-param-region': 'Zürich' })).toBe(400)
  expect(await status({ page: { count: 42 } }, { 'mcp-param-count': '0x2a' })).toBe(400)
  expect(await status({ page: { count: 42 } }, { 'mcp-param-count': '43' })).toBe(400)
  expect(await status({ deep: true }, { 'mcp-param-deep': 'TRUE' })).toBe(400)
  expect(await status({}, { 'mcp-param-region': 'eu' })).toBe(400)
  expect(await status({ region: null }, { 'mcp-param-region': 'null' })).toBe(400)
  expect(at.calls).toHaveLength(accepted)
  const legacy = rpc('tools/call', { name: 'files__read', arguments: { region: 'eu' } })
  expect((await send(at, { body: legacy })).status).toBe(200)
})

test('takes a tool name that has no header form as base64', async () => {
  at = await startScripted({ tools: [boundTool({ name: 'é' })] })
  const { headers, body } = modern('tools/call', { name: 'files__é' })
  const status = async (name: string) =>
    (await send(at, { headers: { ...headers, 'mcp-name': name }, body })).status
  expect(await status('=?base64?ZmlsZXNfX8Op?=')).toBe(200)
  expect(await status('=?base64?ZmlsZXNfX8Op=?=')).toBe(400)
})

test.each(['"tok\\u0065n"', '12345678901234567890', '"é"'])(
  "passes progress under the guest's own token %s, before the result, on one stream",
  async (token) => {
    at = await startScripted({
      answer: (call) => {
        call.progress?.({ intent: 'int_1', progress: 0 })
        call.progress?.({ intent: 'int_1', progress: 1, total: 3, message: 'one' })
        call.progress?.({ intent: 'int_1', progress: 1 })
        call.progress?.({ intent: 'int_1', progress: 2.5, total: 3 })
        return result(Buffer.from('{\n"content":\r\n[]}'))
      },
    })
    const answer = await send(at, { body: callWith('', `,"_meta":{"progressToken":${token}}`) })
    expect(answer.headers['content-type']).toBe('text/event-stream')
    expect(answer.headers['x-accel-buffering']).toBe('no')
    const note = (rest: string) =>
      `event: message\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},${rest}}}\n\n`
    expect(answer.text).toBe(
      note('"progress":0') +
        note('"progress":1,"total":3,"message":"one"') +
        note('"progress":2.5,"total":3') +
        'event: message\ndata: {"jsonrpc":"2.0","id":7,"result":{ "content":  []}}\n\n',
    )
  },
)

test('answers in one JSON body without a token, without progress, or without taste for events', async () => {
  at = await startScripted({
    answer: (call) => {
      call.progress?.({ intent: 'int_1', progress: 1 })
      return textResult('done')
    },
  })
  const withToken = callWith('', ',"_meta":{"progressToken":1}')
  const type = async (body: string, headers: Record<string, string> = {}) =>
    (await send(at, { body, headers })).headers['content-type']
  expect(await type(withToken)).toBe('text/event-stream')
  expect(await type(withToken, json)).toBe('application/json')
  expect(await type(withToken, { accept: '*/*' })).toBe('application/json')
  expect(await type(callWith(''))).toBe('application/json')
  expect(await type(callWith('', ',"_meta":{"progressToken":null}'))).toBe('application/json')
  expect(await type(callWith('', ',"_meta":{"progressToken":1.5}'))).toBe('application/json')
})

test('opens the stream of a call that takes long, and shows signs of life until its result', async () => {
  const held = await startHeld({ timing: { openStreamAfterMs: 30, keepAliveMs: 20 } })
  const { res, events } = await openStream(at, { body: callWith('') })
  expect([res.statusCode, res.headers['content-type']]).toEqual([200, 'text/event-stream'])
  await events.until(({ comments }) => comments >= 3)
  expect(events.messages).toEqual([])
  held[0]?.(textResult('late'))
  await events.until(({ isEnded }) => isEnded)
  const content = [{ type: 'text', text: 'late' }]
  expect(events.messages).toEqual([{ jsonrpc: '2.0', id: 7, result: { content } }])
})

test('shows signs of life as rising progress where the guest gave a token', async () => {
  const held = await startHeld({ timing: { openStreamAfterMs: 30, keepAliveMs: 20 } })
  const body = callWith('', ',"_meta":{"progressToken":"t"}')
  const { events } = await openStream(at, { body })
  await events.until(({ messages }) => messages.length >= 3)
  at.calls[0]?.progress?.({ intent: 'int_1', progress: 0.25, total: 1 })
  const before = events.comments
  await events.until(({ comments }) => comments > before + 1)
  held[0]?.(textResult('late'))
  await events.until(({ isEnded }) => isEnded)
  const values = events.messages
    .slice(0, -1)
    .map((message) => (message as { params: { progress: number } }).params.progress)
  expect(values).toEqual([...values].sort((a, b) => a - b))
  expect(new Set(values).size).toBe(values.length)
  expect(values[0]).toBe(0.000001)
  expect(values.at(-1)).toBe(0.25)
})

test('waits with a plain body for a guest that takes no events', async () => {
  const held = await startHeld({ timing: { openStreamAfterMs: 10, keepAliveMs: 10 } })
  const answer = send(at, { headers: json, body: callWith('') })
  await eventually(() => held.length === 1)
  const later = await openStream(at, { body: callWith('') })
  for (const release of held) release(textResult('late'))
  await later.events.until(({ isEnded }) => isEnded)
  expect((await answer).headers['content-type']).toBe('application/json')
})

test('ignores progress that comes after the result, also while that is still on its way', async () => {
  let late: CallRequest | undefined
  const text = 'x'.repeat(16 * 1024 * 1024)
  at = await startScripted({
    answer: (call) => {
      late = call
      return textResult(text)
    },
  })
  const socket = await bareSocket(at)
  socket.pause()
  const body = callWith('', ',"_meta":{"progressToken":1}')
  const head = bearerHead(at, [`Content-Length: ${body.length}`, 'Accept: text/event-stream'])
  socket.write(head + body)
  await eventually(() => late !== undefined)
  expect((await send(at, { body: rpc('ping') })).status).toBe(200)
  expect(() => late?.progress?.({ intent: 'int_1', progress: 1 })).not.toThrow()
  socket.resume()
  await eventually(() => socket.got.endsWith('"}]}}'))
  expect(() => late?.progress?.({ intent: 'int_1', progress: 2 })).not.toThrow()
  expect(socket.got).not.toContain('notifications/progress')
  expect(at.reports).toEqual([])
  socket.destroy()
})

const eras = ['legacy', 'modern'] as const
const leavings = eras.flatMap((era) => [
  [era, 'an open stream', { timing: { openStreamAfterMs: 5 } }] as const,
  [era, 'an answer that has not begun', {}] as const,
])

test.each(leavings)('a guest (%s) that closes %s has left', async (era, _, options) => {
  const held = await startHeld(options)
  const socket = await bareCall(at, era)
  await eventually(() => at.calls.length === 1 && ('timing' in options ? socket.got !== '' : true))
  const [call] = at.calls
  expect([call?.era, call?.left?.aborted]).toEqual([era, false])
  socket.destroy()
  await eventually(() => call?.left?.aborted === true)
  expect(call?.left?.reason).toBe('closed')
  expect(call?.cancelled?.aborted).toBe(era === 'legacy' ? false : undefined)
  held[0]?.(textResult('late'))
  expect((await send(at, { body: rpc('ping') })).status).toBe(200)
  expect(at.reports).toEqual([])
})

test.each(eras)('a guest (%s) whose answer was handed over has not left', async (era) => {
  const held = await startHeld()
  const socket = await bareCall(at, era)
  await eventually(() => at.calls.length === 1)
  held[0]?.(textResult('done'))
  await eventually(() => socket.got.endsWith('}}'))
  socket.destroy()
  await eventually(() => at.connections() === 0)
  expect(at.calls[0]?.left?.aborted).toBe(false)
})

test('an explicit cancel reaches a call whose guest has left, until its outcome is known', async () => {
  const held = await startHeld()
  for (let n = 0; n < 2; n++) (await bareCall(at, 'legacy', 7 + n)).destroy()
  await eventually(() => at.calls.every(({ left }) => left?.aborted) && at.calls.length === 2)
  held[at.calls.findIndex(({ callId }) => callId === 'call-8')]?.(textResult('late'))
  await send(at, { body: rpc('ping') })
  for (const id of [7, 8]) expect((await send(at, { body: cancel(id) })).status).toBe(202)
  const cancelled = at.calls.map((call) => [call.callId, call.cancelled?.aborted])
  expect(Object.fromEntries(cancelled)).toEqual({ 'call-7': true, 'call-8': false })
  for (const answer of held) answer(textResult('late'))
})

test("a call that goes on without its guest still counts among the session's calls", async () => {
  const settings = () => ({ bodyLimitBytes: 1_000, maxCallsPerSession: 1, requestsPerMinute: 99 })
  const held = await startHeld({ settings })
  const socket = await bareSocket(at)
  const body = callWith('')
  socket.write(bearerHead(at, [`Content-Length: ${body.length}`]) + body)
  await eventually(() => at.calls.length === 1)
  socket.destroy()
  expect((await send(at, { body })).status).toBe(429)
  held[0]?.(textResult('late'))
  const next = send(at, { body })
  await eventually(() => held.length === 2)
  held[1]?.(textResult('next'))
  expect((await next).status).toBe(200)
})

function cancel(requestId: unknown): string {
  const params = { requestId, reason: 'x' }
  return JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
}

test('an explicit cancel aborts the call of its own MCP session alone', async () => {
  const held = await startHeld()
  const start = async () => {
    const answer = await send(at, { body: rpc('initialize', { protocolVersion: '2025-11-25' }) })
    return { 'mcp-session-id': answer.headers['mcp-session-id'] as string }
  }
  const [mine, other] = [await start(), await start()]
  const body = callWith('')
  const answers = [mine, other, {}].map((headers) => send(at, { headers, body }))
  await eventually(() => at.calls.length === 3)
  const aborted = () => at.calls.map(({ cancelled }) => cancelled?.aborted)
  await send(at, { headers: mine, body: cancel(8) })
  expect(aborted()).toEqual([false, false, false])
  expect((await send(at, { headers: mine, body: cancel(7) })).status).toBe(202)
  expect(aborted().filter(Boolean)).toHaveLength(1)
  expect(at.calls.find(({ cancelled }) => cancelled?.aborted)?.cancelled?.reason).toBe('cancelled')
  await send(at, { body: cancel(7) })
  expect(aborted().filter(Boolean)).toHaveLength(2)
  for (const answer of held) answer(textResult('late'))
  expect((await answers[0])?.status).toBe(200)
  await Promise.all(answers)
})

test('a cancel that overtakes its call refuses it, within a minute and once', async () => {
  at = await startScripted()
  await send(at, { body: cancel(7) })
  const refused = await send(at, { body: callWith('') })
  expect(refused.json.result.isError).toBe(true)
  expect(refused.json.result.content[0].text).toMatch(/^call_cancelled: /)
  expect(at.calls).toEqual([])
  expect((await send(at, { body: callWith('') })).json.result.isError).toBeUndefined()
  await send(at, { body: cancel(9) })
  at.clock.now += 60_000
  const late = await send(at, { body: callWith('').replace('"id":7', '"id":9') })
  expect(late.json.result.isError).toBeUndefined()
})

test('ignores cancels of calls that were answered, and of 2026-07-28', async () => {
  at = await startScripted()
  await send(at, { body: callWith('') })
  await send(at, { body: cancel(7) })
  expect((await send(at, { body: callWith('') })).json.result.isError).toBeUndefined()
  await send(at, { headers: { 'mcp-protocol-version': '2026-07-28' }, body: cancel(7) })
  await send(at, { headers: { 'mcp-protocol-version': '2026-07-28' }, body: cancel(8) })
  const next = callWith('').replace('"id":7', '"id":8')
  expect((await send(at, { body: next })).json.result.isError).toBeUndefined()
  for (const bad of [null, {}, 1.5])
    expect((await send(at, { body: cancel(bad) })).status).toBe(202)
})

test('tells what went wrong inside as a code and nothing else', async () => {
  const secret = new Error('at /home/x: password')
  at = await startScripted({
    answer: () => Promise.reject(secret),
    options: { toolsets: { of: () => Promise.reject(secret), callable: async () => [] } },
  })
  const list = await send(at, { body: rpc('tools/list', {}, 'a') })
  expect([list.status, list.json.id, list.json.error.code]).toEqual([500, 'a', -32603])
  expect(list.text).not.toContain('password')
  const path = await send(at, { path: '/mcp/files', body: rpc('ping') })
  expect([path.status, path.json.id]).toEqual([500, null])
  expect(at.reports).toEqual([secret, secret])
  await at.close()
  at = await startScripted({ answer: () => Promise.reject(secret) })
  const call = await send(at, { body: callWith('') })
  expect([call.status, call.json.result.isError]).toEqual([200, true])
  expect(call.json.result.content[0].text).toMatch(/^internal: /)
  expect(call.text).not.toContain('password')
  expect(at.reports).toEqual([secret])
})

test('answers a request that asks first whether it may send its body', async () => {
  at = await startScripted()
  const body = callWith('')
  const socket = await bareSocket(at)
  socket.write(bearerHead(at, [`Content-Length: ${body.length}`, 'Expect: 100-continue']))
  await eventually(() => socket.got.startsWith('HTTP/1.1 100 Continue'))
  socket.write(body)
  await eventually(() => socket.got.includes('HTTP/1.1 200 OK'))
  const denied = await bareSocket(at)
  denied.write(bearerHead(at, ['Content-Length: 9', 'Expect: 100-continue'], 'x'.repeat(43)))
  await eventually(() => denied.got.startsWith('HTTP/1.1 401 '))
  socket.destroy()
  denied.destroy()
})
