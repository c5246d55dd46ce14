import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Origin } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import { systemClock } from '../clock.ts'
import { Dialer } from '../dialer/dialer.ts'
import { Connections } from '../http/connections.ts'
import type { Target } from '../vault/vault.ts'
import { StandingStream } from './standing-stream.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

const contact = {
  era: 'legacy',
  protocolVersion: '2025-11-25',
  sessionId: 's',
  capabilities: ['tools'],
  announcesTools: true,
} as const

/** A stream from a server of the test; what is told resolves when the tools have changed. */
async function listenTo(handle: RequestListener): Promise<{ changed: Promise<void> }> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  ends.push(() => server.closeAllConnections())
  const { port } = server.address() as AddressInfo
  const origin: Origin = { scheme: 'http', host: '127.0.0.1', port }
  const clock = systemClock
  const dialer = new Dialer({ localAllowed: true, ownListeners: new Map(), clock })
  const connections = new Connections({ origin, dialer, clock })
  ends.push(() => connections.close())
  const url = `http://127.0.0.1:${port}/mcp`
  const endpoint = { ...origin, url, path: '/mcp', destination: url, forms: [] }
  const target: Target = { endpoint, headers: [], forms: [] }
  const channel = { connections, clock, target: () => target }
  const changed = new Promise<void>((resolve) => {
    const stream = new StandingStream(channel, contact, { changed: resolve })
    ends.push(() => stream.stop())
    stream.start()
  })
  return { changed }
}

const event = (message: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`
const listChanged = event({ method: 'notifications/tools/list_changed' })

test('a server that asks without end and takes no answer is answered a few times', async () => {
  let answers = 0
  const { changed } = await listenTo((request, response) => {
    if (request.method === 'POST') {
      answers++
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let id = 0; id < 500; id++) response.write(event({ id, method: 'roots/list' }))
    response.write(listChanged)
  })
  await changed
  await new Promise((resolve) => setTimeout(resolve, 200))
  expect(answers).toBe(4)
})

test('a stream that says more than a stream of announcements can is ended', async () => {
  let opened = 0
  let ended = 0
  const { changed } = await listenTo((_request, response) => {
    response.once('close', () => ended++)
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    if (++opened === 1)
      for (let n = 0; n < 40; n++) response.write(`: ${'x'.repeat(32 * 1024)}\n\n`)
  })
  // It is opened again, and what was missed may have been a change.
  await changed
  expect({ opened, ended }).toEqual({ opened: 2, ended: 1 })
})
