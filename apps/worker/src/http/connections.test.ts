import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { SteppedClock } from '../testing/stepped-clock.ts'
import { Connections } from './connections.ts'
import { Exchange } from './exchange.ts'

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

/** A server that answers at once, or when it is told to. */
async function serve(answer: 'at once' | 'later' = 'at once') {
  const held: (() => void)[] = []
  const server = createServer((_request, response) => {
    if (answer === 'at once') response.end('ok')
    else held.push(() => response.end('ok'))
  })
  servers.push(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clock = new SteppedClock()
  let dials = 0
  const dialer = {
    connect: async () => {
      dials++
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket
    },
  }
  const connections = new Connections({
    origin: { scheme: 'http', host: '127.0.0.1', port },
    dialer,
    clock,
  })
  return { connections, clock, held, dials: () => dials }
}

function send(connections: Connections, clock: SteppedClock, maxIdleMs: number): Promise<void> {
  const sent = new Exchange({
    request: { method: 'POST', path: '/', headers: [], body: Buffer.from('x') },
    listener: { head: () => {}, data: () => {} },
    clock,
  })
  connections.run(maxIdleMs, (connection, done) => sent.start(connection, done))
  return sent.ended
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('a connection is used again while it was idle for less than allowed', async () => {
  const { connections, clock, dials } = await serve()
  for (let i = 0; i < 3; i++) {
    await send(connections, clock, 1_000)
    await turn()
    clock.step(1_000)
  }
  expect(dials()).toBe(1)
  clock.step(1)
  await send(connections, clock, 1_000)
  expect(dials()).toBe(2)
  await turn()
  clock.step(5_000)
  await send(connections, clock, 20_000)
  expect(dials()).toBe(2)
  connections.close()
})

test('what is in flight together has connections of its own', async () => {
  const { connections, clock, held, dials } = await serve('later')
  const sent = Array.from({ length: 5 }, () => send(connections, clock, 1_000))
  while (held.length < 5) await turn()
  for (const answer of held.splice(0)) answer()
  await Promise.all(sent)
  expect(dials()).toBe(5)
  connections.close()
})

test('at most 128 are open; the others wait for their turn', async () => {
  const { connections, clock, held, dials } = await serve('later')
  const sent = Array.from({ length: 130 }, () => send(connections, clock, 1_000))
  while (held.length < 128) await turn()
  await turn()
  expect(held).toHaveLength(128)
  for (const answer of held.splice(0)) answer()
  while (held.length < 2) await turn()
  for (const answer of held.splice(0)) answer()
  await Promise.all(sent)
  expect(dials()).toBe(128)
  connections.close()
})

test('a connection that cannot be made fails its own request, and the waiting ones try', async () => {
  const clock = new SteppedClock()
  let dials = 0
  const connections = new Connections({
    origin: { scheme: 'http', host: '127.0.0.1', port: 1 },
    dialer: {
      connect: () => {
        dials++
        return Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
      },
    },
    clock,
  })
  const sent = Array.from({ length: 200 }, () => send(connections, clock, 1_000))
  const ends = await Promise.allSettled(sent)
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true)
  expect(dials).toBe(200)
  connections.close()
})

test('closing ends what is in flight and what waits', async () => {
  const { connections, clock, held } = await serve('later')
  const sent = Array.from({ length: 129 }, () => send(connections, clock, 1_000))
  while (held.length < 128) await turn()
  connections.close()
  const ends = await Promise.allSettled(sent)
  expect(ends.every(({ status }) => status === 'rejected')).toBe(true)
  await expect(send(connections, clock, 1_000)).rejects.toMatchObject({
    code: 'upstream_unreachable',
  })
})

test('a request that was stopped before its turn is not sent', async () => {
  const { connections, clock, held } = await serve('later')
  const first = Array.from({ length: 128 }, () => send(connections, clock, 1_000))
  const stopped = new Exchange({
    request: { method: 'POST', path: '/', headers: [] },
    listener: { head: () => {}, data: () => {} },
    clock,
  })
  connections.run(1_000, (connection, done) => stopped.start(connection, done))
  stopped.ended.catch(() => {})
  while (held.length < 128) await turn()
  stopped.stop('call_cancelled')
  await expect(stopped.ended).rejects.toMatchObject({ code: 'call_cancelled' })
  for (const answer of held.splice(0)) answer()
  await Promise.all(first)
  const last = send(connections, clock, 1_000)
  while (held.length < 1) await turn()
  expect(held).toHaveLength(1)
  held[0]?.()
  await last
  connections.close()
})
