/** The official client finds, lists and calls tools, and hears of changes, in whichever era it speaks. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { CallOutcome } from '@sallyport/core'
import type { SessionId } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import {
  boundTool,
  result,
  type ScriptedEndpoint,
  startScripted,
  textResult,
} from './scripted-core.ts'
import { eventually } from './scripted-guest.ts'

let at: ScriptedEndpoint
let client: Client
afterEach(async () => {
  await client.close()
  await at.close()
})

const negotiation = {
  auto: { mode: 'auto' },
  modern: { mode: { pin: '2026-07-28' } },
  legacy: { mode: 'legacy' },
} as const

async function connect(mode: keyof typeof negotiation, path = '') {
  const heard: number[] = []
  const onChanged = () => void heard.push(1)
  client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      versionNegotiation: negotiation[mode],
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged } },
    },
  )
  const requestInit = { headers: { authorization: `Bearer ${at.token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(at.url + path), { requestInit }))
  return heard
}

const tools = [
  boundTool({
    name: 'read',
    inputSchema: {
      type: 'object',
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
    paramHeaders: [{ header: 'Region', path: ['region'] }],
    outputSchema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  }),
  boundTool({ name: 'refused' }),
]

test.each([
  ['auto', '2026-07-28'],
  ['modern', '2026-07-28'],
  ['legacy', '2025-11-25'],
] as const)('in %s mode it settles on %s', async (mode, version) => {
  at = await startScripted({
    tools,
    answer: (call) => {
      if (call.tool.binding.exposedName === 'refused')
        return { kind: 'failure', executionId: null, code: 'paused' }
      call.progress?.({ intent: 'int_1', progress: 1, total: 2 })
      return result({
        content: [{ type: 'text', text: call.argumentsText }],
        structuredContent: { n: 7 },
      })
    },
  })
  const heard = await connect(mode)
  expect(client.getNegotiatedProtocolVersion()).toBe(version)
  expect(client.getServerVersion()).toMatchObject({ name: 'sallyport', version: '9.9.9' })
  expect(client.getServerCapabilities()).toEqual({ tools: { listChanged: true } })
  const listed = await client.listTools()
  expect(listed.tools.map(({ name }) => name)).toEqual(['files__read', 'files__refused'])
  const progress: unknown[] = []
  const called = await client.callTool(
    { name: 'files__read', arguments: { region: 'Zürich' } },
    { onprogress: (value) => void progress.push(value) },
  )
  expect(called.structuredContent).toEqual({ n: 7 })
  expect(called.content).toEqual([{ type: 'text', text: '{"region":"Zürich"}' }])
  expect(progress).toEqual([{ progress: 1, total: 2 }])
  const refused = await client.callTool({ name: 'files__refused', arguments: {} })
  expect(refused.isError).toBe(true)
  await expect(client.callTool({ name: 'files__missing', arguments: {} })).rejects.toMatchObject({
    code: -32602,
  })
  await eventually(() => {
    at.endpoint.toolsChanged(['ses_1' as SessionId])
    return heard.length > 0
  })
  expect(at.reports).toEqual([])
})

test.each(['auto', 'legacy'] as const)(
  'in %s mode it uses one connection by its own path',
  async (mode) => {
    at = await startScripted({ tools })
    await connect(mode, '/files')
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['read', 'refused'])
    expect((await client.callTool({ name: 'refused', arguments: {} })).isError).toBeFalsy()
  },
)

test.each(['modern', 'legacy'] as const)(
  'in %s mode a waiting answer passes the client, and its outcome is collected',
  async (mode) => {
    const waiting = { kind: 'waiting', executionId: 'exe_1', for: 'person' } as unknown
    at = await startScripted({
      tools: [...tools, boundTool({ name: 'write', access: 'write' })],
      answer: () => waiting as CallOutcome,
      collect: () => textResult('approved and done'),
    })
    await connect(mode)
    await client.listTools()
    const text = /^waiting: .*\nExecution: exe_1\nNext: /
    const plain = await client.callTool({ name: 'files__write', arguments: {} })
    expect([plain.isError, plain.content]).toMatchObject([
      undefined,
      [{ text: expect.stringMatching(text) }],
    ])
    const typed = await client.callTool({ name: 'files__read', arguments: {} })
    expect([typed.isError, typed.content]).toMatchObject([
      true,
      [{ text: expect.stringMatching(text) }],
    ])
    const name = 'sallyport__wait_for_result'
    const collected = await client.callTool({ name, arguments: { executionId: 'exe_1' } })
    expect(collected.content).toEqual([{ type: 'text', text: 'approved and done' }])
  },
)

test('in legacy mode a cancelled request reaches the call', async () => {
  at = await startScripted({
    tools,
    answer: ({ cancelled }) =>
      new Promise((resolve) => {
        cancelled?.addEventListener('abort', () => resolve(result({ content: [] })))
      }),
  })
  await connect('legacy')
  const stop = new AbortController()
  const call = client.callTool({ name: 'files__read', arguments: {} }, { signal: stop.signal })
  const failed = expect(call).rejects.toThrow()
  await eventually(() => at.calls.length === 1)
  stop.abort()
  await failed
  await eventually(() => at.calls[0]?.cancelled?.reason === 'cancelled')
})

test('in 2026-07-28 a request that is given up reaches the call', async () => {
  at = await startScripted({
    tools,
    answer: ({ left }) =>
      new Promise((resolve) => {
        left?.addEventListener('abort', () => resolve(result({ content: [] })))
      }),
  })
  await connect('modern')
  const stop = new AbortController()
  const call = client.callTool({ name: 'files__refused', arguments: {} }, { signal: stop.signal })
  const failed = expect(call).rejects.toThrow()
  await eventually(() => at.calls.length === 1)
  stop.abort()
  await failed
  await eventually(() => at.calls[0]?.left?.reason === 'closed')
})
