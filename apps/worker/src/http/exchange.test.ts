import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { Connections } from './connections.ts'
import { Exchange, type ExchangeOptions } from './exchange.ts'

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

/** A server that says what it is told to, to whoever asks. */
async function serve(answer: string) {
  const clock = new SteppedClock()
  const asked: Socket[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', () => {
      asked.push(socket)
      socket.write(answer)
    })
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const dialer = {
    connect: async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
  }
  const origin = { scheme: 'http', host: '127.0.0.1', port } as const
  const connections = new Connections({ origin, dialer, clock })
  return { clock, asked, connections }
}

function ask(
  { clock, connections }: Awaited<ReturnType<typeof serve>>,
  limits: Partial<ExchangeOptions> = {},
) {
  const heard = { status: 0, text: '' }
  const sent = new Exchange({
    request: { method: 'GET', path: '/', headers: [] },
    listener: {
      head: (status) => {
        heard.status = status
      },
      data: (chunk) => {
        heard.text += chunk
      },
    },
    clock,
    ...limits,
  })
  connections.run(1_000, (connection, done) => sent.start(connection, done))
  sent.ended.catch(() => {})
  return { sent, heard }
}

const code = (expected: string) => ({ code: expected })
const head = 'HTTP/1.1 200 OK\r\n'

test.each(['', head, `${head}x: y`, 'HTTP/1.1 103 Early Hints\r\n\r\n'])(
  'the head is not waited for when it comes as %j',
  async (answer) => {
    const server = await serve(answer)
    const { sent } = ask(server, { headMs: 1_000 })
    await expect.poll(() => server.asked).toHaveLength(1)
    server.clock.step(999)
    server.clock.step(1)
    await expect(sent.ended).rejects.toMatchObject(code('upstream_timeout'))
    server.connections.close()
  },
)

test('a stream that was opened in time may last, while it says something', async () => {
  const server = await serve(`${head}transfer-encoding: chunked\r\n\r\n1\r\na\r\n`)
  const { sent, heard } = ask(server, { headMs: 1_000, idleMs: 5_000 })
  await expect.poll(() => heard.text).toBe('a')
  for (let n = 0; n < 4; n++) {
    server.clock.step(4_000)
    server.asked[0]?.write('1\r\nb\r\n')
    await expect.poll(() => heard.text).toHaveLength(n + 2)
  }
  server.clock.step(4_999)
  let isOver = false
  sent.ended.catch(() => {
    isOver = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  server.clock.step(1)
  await expect(sent.ended).rejects.toMatchObject(code('upstream_timeout'))
  server.connections.close()
})

test('what has ended leaves no timer', async () => {
  const server = await serve(`${head}content-length: 1\r\n\r\na`)
  const { sent, heard } = ask(server, { headMs: 1_000, idleMs: 1_000, totalMs: 1_000 })
  await sent.ended
  expect([heard, server.clock.waiting]).toEqual([{ status: 200, text: 'a' }, 0])
  server.connections.close()
})

test('an answer has 256 headers at most', async () => {
  const headers = (count: number) => 'x: y\r\n'.repeat(count)
  const most = await serve(`${head}${headers(255)}content-length: 0\r\n\r\n`)
  await ask(most).sent.ended
  const more = await serve(`${head}${headers(256)}content-length: 0\r\n\r\n`)
  await expect(ask(more).sent.ended).rejects.toMatchObject(code('upstream_too_large'))
  for (const { connections } of [most, more]) connections.close()
})

test('the name of an encoding that is none may be written in any case', async () => {
  const plain = await serve(`${head}content-encoding: Identity\r\ncontent-length: 1\r\n\r\na`)
  await ask(plain).sent.ended
  const packed = await serve(`${head}content-encoding: GZIP\r\ncontent-length: 1\r\n\r\na`)
  await expect(ask(packed).sent.ended).rejects.toMatchObject(code('upstream_protocol'))
  for (const { connections } of [plain, packed]) connections.close()
})

test('an answer nobody asked for is not given to the next request', async () => {
  const answer = `${head}content-length: 1\r\n\r\n`
  const server = await serve(`${answer}a${answer}b`)
  const first = ask(server)
  await first.sent.ended
  await new Promise((resolve) => setImmediate(resolve))
  const second = ask(server)
  await second.sent.ended
  expect([first.heard.text, second.heard.text]).toEqual(['a', 'a'])
  expect(new Set(server.asked).size).toBe(2)
  server.connections.close()
})
