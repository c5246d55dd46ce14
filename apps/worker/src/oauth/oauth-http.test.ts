/** Servers that take their time, by a clock that is stepped. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { OAuthHttp } from './oauth-http.ts'

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

async function serve(begins: boolean) {
  let asked = 0
  const server = createServer((_request, response) => {
    asked++
    if (begins) response.writeHead(200).write('{')
  })
  servers.push(server.listen(0, '127.0.0.1'))
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, asked: () => asked }
}

function httpWith(pass: () => 'expired' | undefined = () => undefined) {
  const clock = new SteppedClock()
  const sockets: Socket[] = []
  const dialer = {
    clock,
    localAllowed: true,
    connect: async ({ port }: { readonly port: number }) => {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      return socket
    },
  }
  const endpoint = { scheme: 'http' } as const
  return { clock, sockets, http: new OAuthHttp({ dialer, endpoint, subject: 'con_1', pass }) }
}

const timeout = { code: 'upstream_timeout' }
const settled = async (promise: Promise<unknown>) =>
  await Promise.race([
    promise.then(
      () => true,
      () => true,
    ),
    new Promise((resolve) => setImmediate(() => resolve(false))),
  ])

test.each([
  ['says nothing', false],
  ['begins to answer', true],
])('a server that %s is waited for ten seconds', async (_what, begins) => {
  const { url, asked } = await serve(begins)
  const { clock, http } = httpWith()
  const found = http.find(url)
  found.catch(() => {})
  await expect.poll(asked).toBe(1)
  clock.step(9_999)
  expect(await settled(found)).toBe(false)
  clock.step(1)
  await expect(found).rejects.toMatchObject(timeout)
})

test('all of it takes half a minute at most, and nothing is asked afterwards', async () => {
  const { url, asked } = await serve(false)
  const { clock, http } = httpWith()
  for (const ms of [10_000, 10_000, 6_000]) {
    const before = asked()
    const found = http.find(url)
    found.catch(() => {})
    await expect.poll(asked).toBe(before + 1)
    clock.step(ms)
    if (ms === 10_000) await expect(found).rejects.toMatchObject(timeout)
  }
  const last = http.find(url)
  last.catch(() => {})
  await expect.poll(asked).toBe(4)
  clock.step(4_000)
  await expect(last).rejects.toMatchObject(timeout)
  await expect(http.find(url)).rejects.toMatchObject(timeout)
  expect(asked()).toBe(4)
})

test('what may not pass any more is not sent; what may is asked once', async () => {
  const { url, asked } = await serve(false)
  const { http } = httpWith(() => 'expired')
  await expect(http.find(url)).rejects.toMatchObject({ code: 'expired' })
  expect(http.isSent).toBe(false)
  expect(asked()).toBe(0)
  let passed = 0
  const control = httpWith(() => {
    passed++
    return undefined
  })
  const waiting = [control.http.find(url), control.http.find(url)]
  for (const one of waiting) one.catch(() => {})
  await expect.poll(asked).toBe(2)
  expect(control.http.isSent).toBe(true)
  expect(passed).toBe(1)
})
