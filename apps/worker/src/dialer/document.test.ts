import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { Dialer } from './dialer.ts'
import { type DocumentRequest, requestDocument } from './document.ts'

const servers: Server[] = []
const sockets = new Set<Socket>()
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers.splice(0)) {
    server.close()
    await once(server, 'close')
  }
})

/** Answers every request with these bytes; tells what it was asked. */
async function serve(answer: string | Buffer, more?: (socket: Socket) => void) {
  const asked: string[] = []
  const server = createServer((socket) => {
    sockets.add(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk
      const [head = '', body] = text.split('\r\n\r\n', 2)
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
      if (body === undefined || body.length < length) return
      asked.push(text)
      socket.write(answer)
      more?.(socket)
    })
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/doc?q=1` }
}

const clock = new SteppedClock()
const dialer = (localAllowed = true) =>
  new Dialer({ localAllowed, ownListeners: new Map(), clock, resolve: async () => ['127.0.0.1'] })

const fetchIt = (url: string, further: Partial<DocumentRequest> = {}, maxBytes = 1_000) =>
  requestDocument(
    dialer(),
    { method: 'GET', url, headers: {}, ...further },
    { maxBytes, totalMs: 5_000 },
  )
const code = (expected: string) => ({ code: expected })
const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}'

test('brings status, headers and the whole body', async () => {
  const { url, asked } = await serve(
    'HTTP/1.1 400 Bad Request\r\nContent-Type: a/b\r\nX: 1\r\nX: 2\r\ncontent-length: 4\r\n\r\noops',
  )
  const { status, headers, body } = await fetchIt(url, {
    method: 'POST',
    headers: { Accept: 'a/b' },
    body: 'grant=1',
  })
  expect([status, String(body)]).toEqual([400, 'oops'])
  expect([headers.get('content-type'), headers.get('x')]).toEqual(['a/b', '1, 2'])
  expect(asked).toHaveLength(1)
  expect(asked[0]).toMatch(/^POST \/doc\?q=1 HTTP\/1\.1\r\n/)
  expect(asked[0]).toMatch(/\r\naccept: a\/b\r\n/)
  expect(asked[0]).toMatch(/\r\naccept-encoding: identity\r\n/)
  expect(asked[0]).toMatch(/\r\n\r\ngrant=1$/)
})

test('a body without an announced length is read to the end of its connection', async () => {
  const { url } = await serve('HTTP/1.0 200 OK\r\n\r\nwhole', (socket) => socket.end())
  expect(String((await fetchIt(url)).body)).toBe('whole')
})

test.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed', async (status) => {
  const trap = await serve(plain)
  const { url } = await serve(
    `HTTP/1.1 ${status} Go\r\nlocation: ${trap.url}\r\ncontent-length: 0\r\n\r\n`,
  )
  await expect(fetchIt(url)).rejects.toMatchObject(code('upstream_protocol'))
  expect(trap.asked).toEqual([])
  expect((await fetchIt(trap.url)).status).toBe(200)
})

test.each([200, 400])('a compressed answer (%i) is not unpacked', async (status) => {
  const packed = gzipSync('x'.repeat(1_000_000))
  const head = `HTTP/1.1 ${status} OK\r\ncontent-encoding: gzip\r\ncontent-length: ${packed.length}\r\n\r\n`
  const { url } = await serve(Buffer.concat([Buffer.from(head), packed]))
  await expect(fetchIt(url, {}, 10_000_000)).rejects.toMatchObject(code('upstream_protocol'))
})

test('an answer may be as long as its limit, whether its length is announced or not', async () => {
  const body = 'x'.repeat(1_000)
  const announced = await serve(`HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n${body}`)
  const open = await serve(`HTTP/1.1 200 OK\r\n\r\n${body}`, (socket) => socket.end())
  for (const { url } of [announced, open]) {
    expect((await fetchIt(url)).body).toHaveLength(1_000)
    await expect(fetchIt(url, {}, 999)).rejects.toMatchObject(code('upstream_too_large'))
  }
})

test('a length that is too great is refused before the body comes', async () => {
  const { url } = await serve('HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n')
  await expect(fetchIt(url)).rejects.toMatchObject(code('upstream_too_large'))
})

test('an answer that is cut off is none', async () => {
  const { url } = await serve('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}', (socket) =>
    socket.end(),
  )
  await expect(fetchIt(url)).rejects.toMatchObject({
    code: expect.stringMatching(/^upstream_(?:unreachable|protocol)$/),
  })
})

test.each(['', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}'])(
  'a server that says %j and no more is not waited for',
  async (answer) => {
    const { url, asked } = await serve(answer)
    const fetched = fetchIt(url)
    fetched.catch(() => {})
    await expect.poll(() => asked).toHaveLength(1)
    clock.step(5_000)
    await expect(fetched).rejects.toMatchObject(code('upstream_timeout'))
  },
)

test('what cannot be a destination is refused, and nothing is asked', async () => {
  const { url, asked } = await serve(plain)
  const refused = ['ftp://mcp.test/', 'http://mcp.test/', 'https://a:b@mcp.test/', '/doc', '']
  for (const bad of refused) await expect(fetchIt(bad)).rejects.toMatchObject(code('bad_url'))
  const limits = { maxBytes: 10, totalMs: 5_000 }
  const get = { method: 'GET', url, headers: {} } as const
  await expect(requestDocument(dialer(false), get, limits)).rejects.toMatchObject(code('bad_url'))
  await expect(fetchIt('https://169.254.169.254/latest/meta-data/')).rejects.toMatchObject(
    code('upstream_blocked_address'),
  )
  expect(asked).toEqual([])
  await requestDocument(dialer(), get, limits)
  expect(asked).toHaveLength(1)
})

test('the last word before the first byte keeps it from leaving', async () => {
  const { url, asked } = await serve(plain)
  const before = () => {
    throw new Error('not now')
  }
  await expect(fetchIt(url, { before })).rejects.toThrow()
  expect(asked).toEqual([])
  let said = 0
  await fetchIt(url, { before: () => said++ })
  expect([said, asked.length]).toEqual([1, 1])
})

test('headers that belong to the connection are not the caller’s', async () => {
  const { url } = await serve(plain)
  for (const name of ['Host', 'content-length', 'Transfer-Encoding', 'Accept-Encoding', 'proxy-x'])
    await expect(fetchIt(url, { headers: { [name]: '1' } })).rejects.toThrow(TypeError)
  await expect(fetchIt(url, { headers: { x: 'a\r\nb: c' } })).rejects.toMatchObject(
    code('bad_header'),
  )
})
