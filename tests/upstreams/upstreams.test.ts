import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, expect, test } from 'vitest'
import { startEverything } from './everything.ts'
import { startUpstream, type UpstreamOptions } from './scripted-upstream.ts'
import { startSdkServer } from './sdk-modern-server.ts'

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close()
})

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: 'auto' } },
  )
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } })
  await client.connect(transport)
  open.push(client)
  return client
}

async function scripted(options: UpstreamOptions = {}) {
  const upstream = await startUpstream(options)
  open.push(upstream)
  return upstream
}

const eras = [
  { era: 'legacy', version: '2025-11-25', reply: 'json' },
  { era: 'legacy', version: '2025-11-25', reply: 'sse' },
  { era: 'modern', version: '2026-07-28', reply: 'json' },
  { era: 'modern', version: '2026-07-28', reply: 'sse' },
  { era: 'dual', version: '2026-07-28', reply: 'json' },
] as const

test.each(eras)('the official client lists and calls: $era, $reply', async (options) => {
  const upstream = await scripted(options)
  const client = await connect(upstream.url)
  expect(client.getNegotiatedProtocolVersion()).toBe(options.version)
  const before = upstream.state.counter
  expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('counter_add')
  const result = await client.callTool({ name: 'counter_add', arguments: { by: 2 } })
  expect(result.content).toEqual([{ type: 'text', text: String(before + 2) }])
  expect(upstream.effects).toBe(1)
  expect(upstream.count('tools/call')).toBe(1)
})

test('pages are followed to the end', async () => {
  const upstream = await scripted({ pageSize: 4 })
  const client = await connect(upstream.url)
  expect((await client.listTools()).tools).toHaveLength(upstream.tools.length)
  expect(upstream.count('tools/list')).toBe(3)
})

test('a bearer is demanded, and the right one passes', async () => {
  const upstream = await scripted({ era: 'modern', bearer: 'right' })
  await expect(connect(upstream.url, { authorization: 'Bearer wrong' })).rejects.toThrow()
  const client = await connect(upstream.url, { authorization: 'Bearer right' })
  expect((await client.listTools()).tools).not.toHaveLength(0)
})

test('a modern request whose headers do not agree with its body is refused', async () => {
  const upstream = await scripted({ era: 'modern' })
  const version = '2026-07-28'
  const send = (name: string) =>
    fetch(upstream.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': version,
        'mcp-method': 'tools/call',
        'mcp-name': name,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: {
          name: 'counter_read',
          arguments: {},
          _meta: {
            'io.modelcontextprotocol/protocolVersion': version,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
    })
  expect((await send('echo')).status).toBe(400)
  expect((await send('counter_read')).status).toBe(200)
})

test('a fault is used as often as said, and a status keeps the tool from acting', async () => {
  const upstream = await scripted({ era: 'legacy' })
  const client = await connect(upstream.url)
  upstream.misbehave({ kind: 'status', status: 500 }, { method: 'tools/call', times: 1 })
  const add = () => client.callTool({ name: 'counter_add', arguments: { by: 1 } })
  await expect(add()).rejects.toThrow()
  expect(upstream.effects).toBe(0)
  await add()
  expect(upstream.effects).toBe(1)
})

test('a legacy session ends with DELETE, a lost one is told', async () => {
  const upstream = await scripted({ era: 'legacy' })
  const client = await connect(upstream.url)
  await (client.transport as StreamableHTTPClientTransport).terminateSession()
  expect(upstream.deletes).toBe(1)
  await expect(client.listTools()).rejects.toThrow()
})

test.each(['legacy', 'modern'] as const)('a changed list is announced: %s', async (era) => {
  const upstream = await scripted({ era })
  const names = await new Promise<string[]>((resolve, reject) => {
    const client = new Client(
      { name: 'test', version: '1' },
      {
        versionNegotiation: { mode: 'auto' },
        listChanged: {
          tools: {
            onChanged: (_error: unknown, tools: { name: string }[] | null | undefined) =>
              resolve((tools ?? []).map((tool) => tool.name)),
          },
        },
      },
    )
    open.push(client)
    client
      .connect(new StreamableHTTPClientTransport(new URL(upstream.url)))
      .then(() => upstream.until(() => upstream.streams > 0))
      .then(() => {
        upstream.setTools([{ name: 'fresh' }])
        upstream.announceToolsChanged()
      })
      .catch(reject)
  })
  expect(names).toEqual(['fresh'])
})

test('a legacy server asks in the middle of a call and hears the refusal', async () => {
  const upstream = await scripted({ era: 'legacy' })
  upstream.askDuringCalls = ['sampling/createMessage', 'roots/list', 'ping']
  const client = await connect(upstream.url)
  await client.callTool({ name: 'counter_read', arguments: {} })
  expect(upstream.answers.filter((one) => one.error)).toHaveLength(2)
  expect(upstream.answers.filter((one) => one.result)).toHaveLength(1)
})

test('the SDK server answers in text and in structure', async () => {
  const server = await startSdkServer()
  open.push(server)
  const client = await connect(server.url)
  expect(client.getNegotiatedProtocolVersion()).toBe('2026-07-28')
  const greeting = await client.callTool({ name: 'greet', arguments: { name: 'Ada' } })
  expect(greeting.content).toEqual([{ type: 'text', text: 'Hello, Ada.' }])
  const sum = await client.callTool({ name: 'add', arguments: { by: 1 } })
  expect(sum.structuredContent).toEqual({ total: expect.any(Number) })
})

test('the reference server listens on loopback and ends', async () => {
  const server = await startEverything()
  open.push(server)
  const client = await connect(server.url)
  expect(client.getNegotiatedProtocolVersion()).toBe('2025-11-25')
  const echo = await client.callTool({ name: 'echo', arguments: { message: 'hi' } })
  expect(echo.content).toEqual([{ type: 'text', text: 'Echo: hi' }])
})
