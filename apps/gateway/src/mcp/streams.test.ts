import type { SessionId } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import { result, type ScriptedEndpoint, startScripted, textResult } from './scripted-core.ts'
import {
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

const events = { accept: 'text/event-stream' }
const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }
const subscriptionId = 'io.modelcontextprotocol/subscriptionId'
const first = 'ses_1' as SessionId

function get(headers: Record<string, string> = {}, token?: string) {
  const own = token === undefined ? {} : { token }
  return openStream(at, { method: 'GET', headers: { ...events, ...headers }, ...own })
}

function listen(notifications: unknown, id: unknown = 1) {
  return openStream(at, modern('subscriptions/listen', { notifications }, id))
}

async function mcpSession(): Promise<Record<string, string>> {
  const answer = await send(at, { body: rpc('initialize', { protocolVersion: '2025-11-25' }) })
  return { 'mcp-session-id': answer.headers['mcp-session-id'] as string }
}

test('tells a legacy stream that the tools changed, and only streams of that session', async () => {
  at = await startScripted()
  const other = at.addSession()
  const [mine, plain, foreign] = [
    await get(await mcpSession()),
    await get(),
    await get({}, other.token),
  ]
  expect(mine.res.statusCode).toBe(200)
  expect(mine.res.headers['content-type']).toBe('text/event-stream')
  at.endpoint.toolsChanged([first])
  for (const stream of [mine, plain])
    await stream.events.until(({ messages }) => messages.length === 1)
  expect(mine.events.messages).toEqual([changed])
  at.endpoint.toolsChanged('all')
  await foreign.events.until(({ messages }) => messages.length === 1)
  await mine.events.until(({ messages }) => messages.length === 2)
})

test('sends a notification on one stream of an MCP session: its newest', async () => {
  at = await startScripted()
  const headers = await mcpSession()
  const old = await get(headers)
  const other = await get(await mcpSession())
  const young = await get(headers)
  await old.events.until(({ isEnded }) => isEnded)
  at.endpoint.toolsChanged([first])
  await young.events.until(({ messages }) => messages.length === 1)
  await other.events.until(({ messages }) => messages.length === 1)
  expect(old.events.messages).toEqual([])
})

test('opens no stream for a foreign session id, and ends it when its session id is ended', async () => {
  at = await startScripted()
  const lost = await send(at, { method: 'GET', headers: { ...events, 'mcp-session-id': 'lost' } })
  expect(lost.status).toBe(404)
  const headers = await mcpSession()
  const stream = await get(headers)
  await send(at, { method: 'DELETE', headers })
  await stream.events.until(({ isEnded }) => isEnded)
})

test.each([[1], ['a"b'], ['é']])(
  'acknowledges subscription %j first, then tells of tools alone',
  async (id) => {
    at = await startScripted()
    const _meta = { [subscriptionId]: id }
    const wanted = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ['x'],
    }
    const { res, events } = await listen(wanted, id)
    expect(res.headers['content-type']).toBe('text/event-stream')
    expect(res.headers['x-accel-buffering']).toBe('no')
    await events.until(({ messages }) => messages.length === 1)
    at.endpoint.toolsChanged([first])
    await events.until(({ messages }) => messages.length === 2)
    expect(events.messages).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/subscriptions/acknowledged',
        params: { _meta, notifications: { toolsListChanged: true } },
      },
      { ...changed, params: { _meta } },
    ])
  },
)

test('tells a subscription nothing it did not ask for', async () => {
  at = await startScripted({ options: { timing: { keepAliveMs: 20 } } })
  const quiet = await listen({ promptsListChanged: true, toolsListChanged: false })
  const told = await listen({ toolsListChanged: true })
  await quiet.events.until(({ messages }) => messages.length === 1)
  expect(quiet.events.messages[0]).toMatchObject({ params: { notifications: {} } })
  at.endpoint.toolsChanged('all')
  await told.events.until(({ messages }) => messages.length === 2)
  const before = quiet.events.comments
  await quiet.events.until(({ comments }) => comments > before)
  expect(quiet.events.messages).toHaveLength(1)
  for (const bad of [undefined, null, 'all', ['toolsListChanged']]) {
    const answer = await send(at, modern('subscriptions/listen', { notifications: bad }))
    expect([answer.status, answer.json.error?.code]).toEqual([200, -32602])
  }
})

test('ends streams on close: a subscription with its result, a legacy stream with nothing', async () => {
  at = await startScripted()
  const subscription = await listen({ toolsListChanged: true }, 'sub')
  const legacy = await get()
  await at.endpoint.close()
  for (const { events } of [subscription, legacy]) await events.until(({ isEnded }) => isEnded)
  expect(subscription.events.messages.at(-1)).toEqual({
    jsonrpc: '2.0',
    id: 'sub',
    result: {
      resultType: 'complete',
      _meta: {
        [subscriptionId]: 'sub',
        'io.modelcontextprotocol/serverInfo': {
          name: 'sallyport',
          title: 'Sallyport',
          version: '9.9.9',
        },
      },
    },
  })
  expect(legacy.events.messages).toEqual([])
  const late = await send(at, { body: rpc('ping') })
  expect([late.status, late.headers['retry-after']]).toEqual([503, '1'])
})

test('ends the streams of a session that ended, told or found out', async () => {
  at = await startScripted({ options: { timing: { keepAliveMs: 20 } } })
  const other = at.addSession()
  const [told, stays] = [await get(), await get({}, other.token)]
  at.endpoint.sessionsEnded([first])
  await told.events.until(({ isEnded }) => isEnded)
  const found = await get()
  await found.events.until(({ comments }) => comments > 1)
  at.set({ state: 'ended' })
  await found.events.until(({ isEnded }) => isEnded)
  const before = stays.events.comments
  await stays.events.until(({ comments }) => comments > before)
  expect(stays.events.isEnded).toBe(false)
})

test('keeps a stream whose session cannot be looked up at the moment', async () => {
  at = await startScripted({ options: { timing: { keepAliveMs: 10 } } })
  const stream = await get()
  at.set({ isStoreDown: true })
  const refused = await send(at, { body: rpc('ping') })
  expect([refused.status, refused.json.error.code]).toEqual([503, -32603])
  const before = stream.events.comments
  await stream.events.until(({ comments }) => comments > before + 3)
  expect(stream.events.isEnded).toBe(false)
})

test('keeps no more streams of one session than it may have', async () => {
  at = await startScripted()
  const streams = await Promise.all(Array.from({ length: 32 }, () => get()))
  const refused = await send(at, { method: 'GET', headers: events })
  expect([refused.status, refused.headers['retry-after']]).toEqual([429, '15'])
  expect((await send(at, modern('subscriptions/listen', { notifications: {} }))).status).toBe(429)
  streams[0]?.close()
  await eventually(() => streams[0]?.events.isEnded === true)
  expect((await get()).res.statusCode).toBe(200)
})

test('waits on close for answers on their way, and cuts off those that take too long', async () => {
  const held: (() => void)[] = []
  at = await startScripted({
    options: { timing: { closeMs: 150 } },
    answer: () => new Promise((resolve) => held.push(() => resolve(textResult('late')))),
  })
  const body = rpc('tools/call', { name: 'files__read' })
  const [answered, cut] = [send(at, { body }), send(at, { body })]
  const failed = expect(cut).rejects.toThrow()
  await eventually(() => held.length === 2)
  const closing = at.endpoint.close()
  held[0]?.()
  expect((await answered).status).toBe(200)
  await closing
  await failed
})

const megabyte = 'x'.repeat(1024 * 1024)
const large = (megabytes: number) =>
  result({ content: [{ type: 'text', text: megabyte.repeat(megabytes) }] })
const read = rpc('tools/call', { name: 'files__read' })

/** Asks once and reads nothing. */
async function askWithoutReading(body = read, headers: Readonly<Record<string, string>> = {}) {
  const socket = await bareSocket(at)
  socket.pause()
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.write(bearerHead(at, [`Content-Length: ${body.length}`, ...lines]) + body)
  return socket
}

function untilConnections(count: number): Promise<void> {
  return eventually(() => at.connections() === count)
}

test('a guest that never reads delays no other session and is cut off', async () => {
  at = await startScripted({
    options: { timing: { stallMs: 200 } },
    answer: ({ session }) => (session.id === first ? large(16) : textResult('quick')),
  })
  const stalled = await askWithoutReading()
  await eventually(() => at.calls.length === 1)
  const { token } = at.addSession()
  for (let i = 0; i < 20; i++) {
    const answer = await send(at, { token, body: read })
    expect(answer.json.result.content[0].text).toBe('quick')
  }
  await untilConnections(0)
  stalled.destroy()
})

test('a guest that reads slowly gets everything, however long it takes', async () => {
  at = await startScripted({ options: { timing: { stallMs: 1_000 } }, answer: () => large(12) })
  const socket = await askWithoutReading()
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), 10)
  })
  socket.resume()
  await eventually(() => bytes > 12 * megabyte.length)
  socket.destroy()
})

test('a guest that asks on without reading is refused before answers pile up', async () => {
  const settings = () => ({ bodyLimitBytes: 9_999, maxCallsPerSession: 3, requestsPerMinute: 999 })
  at = await startScripted({ options: { settings }, answer: () => large(16) })
  const sockets = await Promise.all(Array.from({ length: 8 }, () => askWithoutReading()))
  await eventually(() => at.calls.length === 3)
  expect((await send(at, { body: read })).status).toBe(429)
  expect((await send(at, { body: rpc('ping') })).status).toBe(200)
  expect(at.calls).toHaveLength(3)
  for (const socket of sockets) socket.destroy()
  await untilConnections(0)
  expect((await send(at, { body: read })).status).toBe(200)
})

test('events pile up to a limit for a guest that does not read them', async () => {
  at = await startScripted({
    options: { timing: { backlogBytes: 1024 * 1024 } },
    answer: ({ progress, left }) => {
      for (let n = 0; n < 64; n++) progress?.({ intent: 'int_1', progress: n, message: megabyte })
      return new Promise((resolve) => {
        left?.addEventListener('abort', () => resolve(textResult('late')))
      })
    },
  })
  const { headers, body } = modern('tools/call', {
    name: 'files__read',
    _meta: { progressToken: 1 },
  })
  const socket = await askWithoutReading(body, { ...headers, Accept: 'text/event-stream' })
  await eventually(() => at.calls[0]?.left?.aborted === true)
  await untilConnections(0)
  socket.destroy()
})

test('tells a stream that is behind once, when it has caught up', async () => {
  at = await startScripted()
  const socket = await bareSocket(at)
  socket.pause()
  const head = bearerHead(at, ['Accept: text/event-stream']).replace('POST', 'GET')
  socket.write(head)
  const probe = await get()
  const total = 200_000
  for (let i = 0; i < total; i++) at.endpoint.toolsChanged([first])
  socket.resume()
  const told = () => socket.got.split('list_changed').length - 1
  await eventually(() => told() > 0)
  at.endpoint.toolsChanged([first])
  await eventually(() => probe.events.messages.length > 0)
  expect(told()).toBeLessThan(total / 2)
  socket.destroy()
})
