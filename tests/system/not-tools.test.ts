/**
 * Upstreams that advertise and ask for everything that is not tools, in both eras, before guests of both eras: the
 * guest sees tools, each question is answered or counted, and every call ends with its result.
 */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import {
  defaultTools,
  type ScriptedTool,
  startUpstream,
  type Upstream,
} from '../upstreams/scripted-upstream.ts'
import { type Era, RawGuest } from './raw-guest.ts'

const eras = ['legacy', 'modern'] as const
const pairs = eras.flatMap((server) => eras.map((guest) => ({ server, guest })))

/** The official client leaves out what 2026-07-28 has no capability for: tasks. */
const advertise = ['completions', 'logging', 'prompts', 'resources', 'tasks'] as const

/** A 2026-07-28 server asks so; one of an earlier era has no business to. */
const asks: ScriptedTool = {
  name: 'asks',
  description: 'Answers with a question.',
  run: () => ({
    result: {
      resultType: 'input_required',
      inputRequests: { name: { method: 'elicitation/create', params: { message: 'Who?' } } },
      requestState: 'state-1',
      content: [],
    },
  }),
}

let sallyport: Sallyport
let session: OpenSession
const upstreams = {} as Record<Era, Upstream>
beforeAll(async () => {
  sallyport = await startSallyport()
  for (const era of eras) {
    const upstream = await startUpstream({ era, advertise, tools: [...defaultTools, asks] })
    upstreams[era] = upstream
    const spec = { name: era, url: upstream.url, profile: 'p', unattended: true }
    const reads = ['counter_read', 'asks']
    session = await connectAndGrant(sallyport, { ...spec, read: reads, write: ['counter_add'] })
  }
})
afterAll(async () => {
  await sallyport?.remove()
  for (const upstream of Object.values(upstreams)) await upstream.close()
})
beforeEach(() => {
  for (const upstream of Object.values(upstreams)) {
    upstream.askDuringCalls = []
    upstream.answers.length = 0
  }
})

const endpointOf = (server: Era) => `${sallyport.guestUrl}/mcp/${server}`
const guestOf = (server: Era, era: Era) =>
  new RawGuest({ endpoint: endpointOf(server), token: session.token, era })

const modes = { legacy: 'legacy', modern: { pin: '2026-07-28' } } as const

async function connect(url: string, guest: Era, token?: string): Promise<Client> {
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: modes[guest] } },
  )
  const requestInit = token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

async function newestExecution() {
  const { items } = await sallyport.api('execution.list', { session: session.id, limit: 1 })
  return items[0]
}

test.each(pairs)('$guest guest, $server server: tools alone are offered', async (pair) => {
  const { server, guest } = pair
  const direct = await connect(upstreams[server].url, server)
  const governed = await connect(endpointOf(server), guest, session.token)
  try {
    const offered = Object.keys(direct.getServerCapabilities() ?? {})
    const others = advertise.filter((name) => name !== 'tasks' || server === 'legacy')
    expect(offered.sort()).toEqual([...others, 'tools'])
    expect(governed.getServerCapabilities()).toEqual({ tools: { listChanged: true } })
  } finally {
    await direct.close()
    await governed.close()
  }
})

const methods = [
  ...['resources/list', 'resources/templates/list', 'resources/read'],
  ...['resources/subscribe', 'resources/unsubscribe', 'prompts/list', 'prompts/get'],
  ...['completion/complete', 'logging/setLevel'],
  ...['tasks/list', 'tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update'],
  ...['sampling/createMessage', 'elicitation/create', 'roots/list', 'tools/invent'],
]

test.each(pairs)('$guest guest, $server server: no other method is found', async (pair) => {
  const { server, guest } = pair
  const asking = guestOf(server, guest)
  for (const method of methods) {
    const { status, error } = await asking.ask(method, '{"uri":"x:y","name":"counter_read"}')
    expect({ method, status, code: error?.code }).toEqual({
      method,
      status: guest === 'modern' ? 404 : 200,
      code: -32601,
    })
    expect(upstreams[server].count(method), method).toBe(0)
  }
  expect((await asking.ask('tools/list')).result).toMatchObject({ tools: expect.any(Array) })
})

test.each(pairs)('$guest guest, $server server: a call asks for no task', async (pair) => {
  const { server, guest } = pair
  const params = '{"name":"counter_read","arguments":{},"task":{"ttl":1000},"extra":1}'
  const { result } = await guestOf(server, guest).ask('tools/call', params)
  expect(result?.['isError'] ?? false).toBe(false)
  const call = upstreams[server].requests.findLast(({ method }) => method === 'tools/call')
  const sent = (call?.body as { params?: object } | undefined)?.params
  expect(Object.keys(sent ?? {}).filter((key) => key !== '_meta')).toEqual(['name', 'arguments'])
})

const questions = ['sampling/createMessage', 'elicitation/create', 'roots/list', 'tasks/get']

test.each(eras)(
  '%s guest, legacy server: what it asks in a call is answered "method not found" and noted',
  async (guest) => {
    const { legacy } = upstreams
    legacy.askDuringCalls = [...questions, 'ping']
    const { counter } = legacy.state
    const answer = await guestOf('legacy', guest).call('counter_add', '{"by":2}')
    expect(answer).toMatchObject({ isError: false, text: String(counter + 2) })
    const [first, ...others] = legacy.answers
    expect(legacy.answers).toHaveLength(5)
    for (const refused of [first, ...others.slice(0, 3)])
      expect(refused).toMatchObject({ error: { code: -32601 } })
    expect(others.at(-1)).toMatchObject({ result: {} })
    expect(await newestExecution()).toMatchObject({
      state: 'succeeded',
      tool: 'counter_add',
      notes: { serverRequests: 5 },
    })
  },
)

test.each(eras)(
  '%s guest, 2026-07-28 server: what it asks in a call is not answered, and noted',
  async (guest) => {
    const { modern } = upstreams
    modern.askDuringCalls = [...questions, 'ping']
    const { counter } = modern.state
    const posts = modern.requests.length
    const answer = await guestOf('modern', guest).call('counter_add', '{"by":2}')
    expect(answer).toMatchObject({ isError: false, text: String(counter + 2) })
    expect(await newestExecution()).toMatchObject({
      state: 'succeeded',
      tool: 'counter_add',
      notes: { violations: 5 },
    })
    // The call itself, and nothing that would answer.
    const later = modern.requests.slice(posts)
    expect(later.map(({ method }) => method)).toEqual(['tools/call'])
    expect(modern.answers).toEqual([])
  },
)

test('the control: a call in which nothing is asked has nothing noted', async () => {
  for (const server of eras) {
    await guestOf(server, 'modern').call('counter_read')
    const { notes } = (await newestExecution()) ?? {}
    expect(Object.keys(notes ?? {})).toEqual(['status'])
  }
})

test('a legacy server that asks outside of a call is answered too, and no execution has it', async () => {
  const { legacy } = upstreams
  await guestOf('legacy', 'modern').call('counter_read')
  // That it was collected may be recorded meanwhile.
  const noted = async () => {
    const { id, notes } = (await newestExecution()) ?? {}
    return { id, notes }
  }
  const before = await noted()
  expect(before.id).toBeDefined()
  await legacy.until(() => legacy.streams > 0)
  for (const method of questions) legacy.ask(method)
  await legacy.until(() => legacy.answers.length >= questions.length)
  for (const refused of legacy.answers) expect(refused).toMatchObject({ error: { code: -32601 } })
  expect(await noted()).toEqual(before)
})

test.each(pairs)(
  '$guest guest, $server server: a result that is a question ends the call and reaches no guest',
  async ({ server, guest }) => {
    const answer = await guestOf(server, guest).call('asks')
    expect(answer).toMatchObject({ isError: true, failure: { code: 'input_required' } })
    expect(JSON.stringify(answer)).not.toMatch(/state-1|Who\?|inputRequests/)
    expect(await newestExecution()).toMatchObject({
      state: 'tool_error',
      code: 'input_required',
      tool: 'asks',
    })
  },
)
