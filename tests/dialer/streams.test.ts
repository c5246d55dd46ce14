/** What a server can do to calls and listings with a stream: never end it, fill it, drip it, break it off. */
import { afterEach, expect, test } from 'vitest'
import { Bench } from '../../apps/worker/src/testing/bench.ts'
import { drip, forever, RawServer } from './raw-server.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
})

interface Request {
  readonly id: number
  readonly method: string
}

const json = (message: object) => {
  const text = JSON.stringify({ jsonrpc: '2.0', ...message })
  return `HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`
}
const stream = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'
const result = { content: [{ type: 'text', text: 'ok' }] }
const tools = [{ name: 'tool', inputSchema: { type: 'object' } }]

/** A legacy server, one answer a connection, whose calls and listings are answered as a test says. */
async function start() {
  const server = await RawServer.start()
  open.push(server)
  const answers = { call: answerWith({ result }), list: answerWith({ result: { tools } }) }
  server.say = (socket) => {
    const [head = '', body = ''] = (server.asked.at(-1) ?? '').split('\r\n\r\n')
    if (!head.startsWith('POST'))
      return void socket.end('HTTP/1.1 405 No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    const request: Request = JSON.parse(body)
    if (request.method === 'tools/call') answers.call(socket, request)
    else if (request.method === 'tools/list') answers.list(socket, request)
    else if (request.method === 'initialize') socket.end(initialized(request))
    else if (request.id === undefined)
      socket.end('HTTP/1.1 202 Ok\r\nconnection: close\r\ncontent-length: 0\r\n\r\n')
    else socket.end(json({ id: request.id, error: { code: -32601, message: 'no' } }))
  }
  const bench = await Bench.start({ url: server.url })
  open.push(bench)
  return { server, bench, answers }
}

type Answer = (socket: import('node:net').Socket, request: Request) => void

const answerWith =
  (member: object): Answer =>
  (socket, { id }) =>
    socket.end(json({ id, ...member }))

const initialized = ({ id }: Request) =>
  json({
    id,
    result: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'x', version: '1' },
    },
  })

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const limits = { resultBytes: 65_536, callMs: 400, verifyWithinMs: 300_000 }

const calls: readonly [what: string, code: RegExp, answer: Answer][] = [
  [
    'comments without end',
    /timeout|too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, `: ${'x'.repeat(1_000)}\n\n`)
    },
  ],
  [
    'comments that drip',
    /timeout/,
    (socket) => {
      socket.write(stream)
      drip(socket, ': x\n\n'.repeat(200))
    },
  ],
  [
    'one event without end',
    /timeout|too_large|protocol/,
    (socket) => {
      socket.write(`${stream}data: {"jsonrpc":"2.0","x":"`)
      forever(socket, 'x'.repeat(65_536))
    },
  ],
  [
    'one line without a name without end',
    /timeout|too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, 'x'.repeat(65_536))
    },
  ],
  [
    'messages of the server without end',
    /timeout|too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, event({ method: 'notifications/message', params: { data: 'x'.repeat(100) } }))
    },
  ],
  [
    'questions of the server without end',
    /timeout|too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, event({ id: 'q', method: 'roots/list' }))
    },
  ],
  [
    'answers to other calls without end',
    /timeout|too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, event({ id: 999_999, result }))
    },
  ],
  [
    'an answer that breaks off',
    /unreachable/,
    (socket) => socket.end(`${stream}data: {"jsonrpc":"2.0","id"`),
  ],
  [
    'a stream without the answer',
    /unreachable/,
    (socket) => socket.end(`${stream}${event({ method: 'x' })}`),
  ],
  [
    'an answer that is no text',
    /protocol/,
    (socket) => socket.end(`HTTP/1.1 200 OK\r\ncontent-type: image/png\r\n\r\nx`),
  ],
  [
    'two results in one answer',
    /protocol/,
    (socket, { id }) =>
      socket.end(`${stream}data: {"jsonrpc":"2.0","id":${id},"result":{},"result":{}}\n\n`),
  ],
]

test.each(calls)(
  '%s: the call is uncertain, and the next one is answered',
  async (_what, code, answer) => {
    const { bench, answers, server } = await start()
    await bench.review()
    answers.call = answer
    const begun = performance.now()
    const before = process.memoryUsage().rss
    const { head } = await bench.call('tool', {}, { limits })
    expect(head.verdict).toBe('uncertain')
    expect(head.code).toMatch(code)
    expect(performance.now() - begun).toBeLessThan(3_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024)
    answers.call = answerWith({ result })
    expect((await bench.call('tool', {}, { limits })).head).toMatchObject({ verdict: 'result' })
    expect(server.asked.filter((text) => text.includes('"tools/call"'))).toHaveLength(2)
  },
)

test('a result over the limit is counted, not kept', async () => {
  const { bench, answers } = await start()
  await bench.review()
  const text = 'x'.repeat(8 * 1024 * 1024)
  answers.call = answerWith({ result: { content: [{ type: 'text', text }] } })
  const { head, raw } = await bench.call('tool', {}, { limits: { ...limits, callMs: 20_000 } })
  expect(head).toMatchObject({ code: 'result_too_large', withheld: 'too_large' })
  expect(head.bytes).toBeGreaterThan(text.length)
  expect(raw).toHaveLength(0)
  answers.call = answerWith({ result })
  const fine = await bench.call('tool', {}, { limits })
  expect(JSON.parse(fine.raw.toString())).toEqual(result)
})

const listings: readonly [what: string, code: RegExp, answer: Answer][] = [
  [
    'a list without end',
    /too_large/,
    (socket, { id }) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n')
      socket.write(`{"jsonrpc":"2.0","id":${id},"result":{"tools":["`)
      forever(socket, 'x'.repeat(65_536))
    },
  ],
  [
    'comments without end',
    /too_large/,
    (socket) => {
      socket.write(stream)
      forever(socket, `: ${'x'.repeat(10_000)}\n\n`)
    },
  ],
  ['a list that breaks off', /unreachable|protocol/, (socket) => socket.end(`${stream}data: {`)],
]

test.each(listings)('%s is no listing', async (_what, code, answer) => {
  const { bench, answers } = await start()
  answers.list = answer
  const before = process.memoryUsage().rss
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head).toMatchObject({ verdict: 'not_sent' })
  expect(head.code).toMatch(code)
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024)
  answers.list = answerWith({ result: { tools } })
  await bench.review()
})
