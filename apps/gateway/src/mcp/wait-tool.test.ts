/** Our own tool: where it is, what it takes, and that its outcomes are told like those of the call they are of. */
import type { CallOutcome } from '@sallyport/core'
import { afterEach, expect, test } from 'vitest'
import {
  boundTool,
  result,
  type Script,
  type ScriptedEndpoint,
  startScripted,
} from './scripted-core.ts'
import { eventually, modern, openStream, rpc, send } from './scripted-guest.ts'

let at: ScriptedEndpoint
afterEach(() => at.close())

const eras = ['legacy', 'modern'] as const
type Era = (typeof eras)[number]
const id = 'exe_01jd0000000000000000000000'
const places = [
  ['/mcp', 'sallyport__wait_for_result'],
  ['/mcp/sallyport', 'wait_for_result'],
] as const
const everywhere = eras.flatMap((era) => places.map((place) => [era, ...place] as const))
const write = boundTool({ name: 'write', access: 'write' })

const start = async (script: Script = {}) => {
  at = await startScripted({ tools: [boundTool(), write], ...script })
}

function request(era: Era, method: string, params: { name?: string; [key: string]: unknown } = {}) {
  return era === 'modern' ? modern(method, params) : { headers: {}, body: rpc(method, params) }
}

const wait = (era: Era, path: string, name: string, arguments_: unknown = { executionId: id }) =>
  send(at, { ...request(era, 'tools/call', { name, arguments: arguments_ }), path })

async function names(era: Era, path: string, cursor?: string) {
  const answer = await send(at, { ...request(era, 'tools/list', { cursor }), path })
  return answer.json.result.tools.map(({ name }: { name: string }) => name)
}

test.each(eras)(
  'is listed (%s) last, beside a write, on its own path and the common one',
  async (era) => {
    await start()
    expect(await names(era, '/mcp')).toEqual([
      'files__read',
      'files__write',
      'sallyport__wait_for_result',
    ])
    expect(await names(era, '/mcp/sallyport')).toEqual(['wait_for_result'])
    expect(await names(era, '/mcp/files')).toEqual(['read', 'write'])
    at.set({ callable: [] })
    expect(await names(era, '/mcp')).toEqual(['sallyport__wait_for_result'])
  },
)

test.each(eras)('is nowhere (%s) in a session that can write nothing', async (era) => {
  await start({ tools: [boundTool()] })
  expect(await names(era, '/mcp')).toEqual(['files__read'])
  const path = await send(at, { ...request(era, 'tools/list'), path: '/mcp/sallyport' })
  expect(path.status).toBe(404)
  const called = await wait(era, '/mcp', 'sallyport__wait_for_result')
  expect([called.status, called.json.error.code]).toEqual([200, -32602])
  expect(at.collects).toEqual([])
})

test('says what it takes in one flat schema, and that it changes nothing', async () => {
  await start()
  const { json } = await send(at, { body: rpc('tools/list'), path: '/mcp/sallyport' })
  expect(json.result.tools).toEqual([
    {
      name: 'wait_for_result',
      description: expect.any(String),
      inputSchema: {
        type: 'object',
        properties: { executionId: { type: 'string', description: expect.any(String) } },
        required: ['executionId'],
        additionalProperties: false,
      },
      annotations: { readOnlyHint: true },
    },
  ])
})

test('is on the last page of many tools', async () => {
  const many = Array.from({ length: 501 }, (_, n) => boundTool({ name: `t${1_000 + n}` }))
  await start({ tools: [...many, write] })
  const first = await send(at, { body: rpc('tools/list') })
  expect(first.json.result.tools).toHaveLength(500)
  expect(await names('legacy', '/mcp', first.json.result.nextCursor)).toEqual([
    'files__t1500',
    'files__write',
    'sallyport__wait_for_result',
  ])
})

test.each(everywhere)(
  'asks the core (%s) on %s for that execution alone, as %s',
  async (era, path, name) => {
    await start({
      collect: () => result(Buffer.from('{"content":[],"structuredContent":{"n":1.0}}')),
    })
    const { text } = await wait(era, path, name)
    expect(text).toContain('"content":[],"structuredContent":{"n":1.0}}')
    expect(at.calls).toEqual([])
    const [asked] = at.collects
    const own = era === 'legacy' ? ['cancelled'] : []
    expect(Object.keys(asked as object).sort()).toEqual(
      [...own, 'era', 'executionId', 'held', 'left', 'session'].sort(),
    )
    expect([asked?.executionId, asked?.era, asked?.session.id]).toEqual([id, era, 'ses_1'])
  },
)

test.each([
  ['/mcp', 'wait_for_result'],
  ['/mcp/sallyport', 'sallyport__wait_for_result'],
  ['/mcp/files', 'wait_for_result'],
  ['/mcp/files', 'sallyport__wait_for_result'],
])('on %s there is no %s', async (path, name) => {
  await start()
  for (const era of eras) expect((await wait(era, path, name)).json.error.code).toBe(-32602)
  expect(at.collects).toEqual([])
})

test.each([
  [undefined, 'arguments_refused', '/executionId'],
  [{ executionId: 7 }, 'arguments_refused', '/executionId'],
  [{ executionId: id, also: 1 }, 'arguments_refused', '/also'],
  [[id], 'arguments_refused', '(the arguments as a whole)'],
  [{ executionId: 'x'.repeat(1_100) }, 'arguments_too_large', '(the arguments as a whole)'],
])('refuses %j like any tool', async (arguments_, code, field) => {
  await start()
  for (const era of eras) {
    const params = { name: 'wait_for_result', arguments: arguments_ }
    const answer = await send(at, { ...request(era, 'tools/call', params), path: '/mcp/sallyport' })
    expect(answer.json.result.isError).toBe(true)
    const [{ text }] = answer.json.result.content
    expect(text).toMatch(new RegExp(`^${code}: `))
    expect(text).toContain(`Field: ${field}`)
  }
  expect(at.collects).toEqual([])
})

test('refuses a name that is given twice', async () => {
  await start()
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_result","arguments":{"executionId":"${id}","executionId":"x"}}}`
  const { json } = await send(at, { path: '/mcp/sallyport', body })
  expect(json.result.content[0].text).toMatch(/^arguments_not_exact: /)
})

test.each(everywhere)(
  'a wait that goes on (%s) on %s names no other tool',
  async (era, path, name) => {
    const waiting = { kind: 'waiting', executionId: id, for: 'person' } as unknown as CallOutcome
    await start({ collect: () => waiting, answer: () => waiting })
    const again = (await wait(era, path, name)).json.result
    expect(again.content[0].text).toContain('again with exactly the same arguments. ')
    const call = { name: 'files__write', arguments: {} }
    const first = (await send(at, request(era, 'tools/call', call))).json.result
    expect(first.content[0].text).toContain(
      `or call sallyport__wait_for_result with {"executionId":"${id}"}`,
    )
    const beside = { ...call, name: 'write' }
    const path_ = { ...request(era, 'tools/call', beside), path: '/mcp/files' }
    expect((await send(at, path_)).json.result.content[0].text).toContain(
      'or call wait_for_result of the server "sallyport" with',
    )
  },
)

test.each(eras)('says (%s) that an execution is not of this session', async (era) => {
  await start({ collect: () => ({ kind: 'failure', executionId: null, code: 'not_found' }) })
  const { result } = (await wait(era, '/mcp', 'sallyport__wait_for_result')).json
  expect([result.isError, result.structuredContent.error.code]).toEqual([true, 'not_found'])
})

test.each(eras)('is held and left (%s) like a call, and counts like one', async (era) => {
  const settings = () => ({ bodyLimitBytes: 9_999, maxCallsPerSession: 1, requestsPerMinute: 99 })
  const release: ((outcome: CallOutcome) => void)[] = []
  await start({
    options: { settings },
    collect: ({ held }) => {
      held?.()
      return new Promise((resolve) => release.push(resolve))
    },
  })
  const params = { name: 'sallyport__wait_for_result', arguments: { executionId: id } }
  const stream = await openStream(at, request(era, 'tools/call', params))
  expect(stream.res.headers['content-type']).toBe('text/event-stream')
  expect((await wait(era, '/mcp', params.name)).status).toBe(429)
  stream.close()
  await eventually(() => at.collects[0]?.left?.aborted === true)
  release[0]?.(result({ content: [] }))
  const next = wait(era, '/mcp', params.name)
  await eventually(() => release.length === 2)
  release[1]?.(result({ content: [] }))
  expect((await next).status).toBe(200)
})

test.each(eras)('tells (%s) whether its answer arrived', async (era) => {
  const log: string[] = []
  const delivery = { collected: () => log.push('collected'), lost: () => log.push('lost') }
  await start({ collect: () => ({ ...result({ content: [] }), delivery }) as CallOutcome })
  await wait(era, '/mcp', 'sallyport__wait_for_result')
  await eventually(() => at.connections() === 0)
  expect(log).toEqual(['collected'])
})

test('tells what went wrong inside as a code and nothing else', async () => {
  const secret = new Error('at /home/x: password')
  await start({ collect: () => Promise.reject(secret) })
  const { text, json } = await wait('legacy', '/mcp', 'sallyport__wait_for_result')
  expect(json.result.content[0].text).toMatch(/^internal: /)
  expect(text).not.toContain('password')
  expect(at.reports).toEqual([secret])
})
