/** A redirect in answer to every kind of request that goes out: none is followed, and no secret goes with it. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { systemClock } from '../../apps/worker/src/clock.ts'
import { Dialer } from '../../apps/worker/src/dialer/dialer.ts'
import { requestDocument } from '../../apps/worker/src/dialer/document.ts'
import { Bench } from '../../apps/worker/src/testing/bench.ts'
import {
  startUpstream,
  type Upstream,
  type UpstreamOptions,
} from '../upstreams/scripted-upstream.ts'
import { RawServer } from './raw-server.ts'

const token = 'SENTINEL-token-0123456789'
const statuses = [301, 302, 303, 307, 308]

let trap: RawServer
const open: { stop(): Promise<void> }[] = []
beforeEach(async () => {
  trap = await RawServer.start()
  trap.say = (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}')
})
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.stop()
  expect(trap.asked).toEqual([])
  await trap.stop()
})

async function start(options: UpstreamOptions = {}): Promise<{ upstream: Upstream; bench: Bench }> {
  const upstream = await startUpstream({ bearer: token, ...options })
  open.push({ stop: () => upstream.close() })
  const bench = await Bench.start({ url: upstream.url, token })
  open.push(bench)
  return { upstream, bench }
}

const redirect = (upstream: Upstream, method: string, status: number, times = 1) =>
  upstream.misbehave({ kind: 'redirect', to: trap.url, status }, { method, times })

const eras = ['modern', 'legacy'] as const
const each = statuses.flatMap((status) => eras.map((era) => [status, era] as const))

test.each(each)('%i while agreeing with a %s server', async (status, era) => {
  const { upstream, bench } = await start({ era })
  redirect(upstream, era === 'modern' ? 'server/discover' : 'initialize', status, 9)
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'upstream_not_mcp' })
  upstream.behave()
  expect((await bench.gateway.order({ connection: bench.connection })).head.verdict).toBe('result')
})

test.each(each)('%i to a listing of a %s server', async (status, era) => {
  const { upstream, bench } = await start({ era })
  redirect(upstream, 'tools/list', status)
  const { head } = await bench.gateway.order({ connection: bench.connection })
  expect(head).toMatchObject({ verdict: 'not_sent', code: 'upstream_not_mcp' })
  expect((await bench.gateway.order({ connection: bench.connection })).head.verdict).toBe('result')
})

test.each(each)('%i to a call, of a read and of a write, of a %s server', async (status, era) => {
  const { upstream, bench } = await start({ era })
  await bench.review()
  for (const access of ['read', 'write']) {
    redirect(upstream, 'tools/call', status)
    const before = upstream.count('tools/call')
    const { head } = await bench.call('whoami', {}, { access })
    expect(head).toMatchObject({ verdict: 'result', code: 'upstream_refused', status })
    expect(upstream.count('tools/call')).toBe(before + 1)
    expect((await bench.call('whoami', {}, { access })).head).toMatchObject({ status: 200 })
  }
})

test.each(each)('%i to the stream of announcements of a %s server', async (status, era) => {
  const { upstream, bench } = await start({ era })
  const method = era === 'modern' ? 'subscriptions/listen' : 'GET'
  redirect(upstream, method, status)
  await bench.review()
  await upstream.received(method)
  expect((await bench.call('whoami')).head.status).toBe(200)
})

test.each(statuses)('%i to the end of a session', async (status) => {
  const { upstream, bench } = await start({ era: 'legacy' })
  await bench.review()
  redirect(upstream, 'DELETE', status)
  const { head } = await bench.gateway.order({
    connection: bench.connection,
    claims: { act: 'close' },
  })
  expect(head.verdict).toBe('result')
  expect(upstream.deletes).toBe(1)
})

test.each(statuses)('%i to a document, asked for and sent', async (status) => {
  const server = await RawServer.start()
  open.push(server)
  const dialer = new Dialer({ localAllowed: true, ownListeners: new Map(), clock: systemClock })
  const limits = { maxBytes: 1_000, totalMs: 5_000 }
  const headers = { authorization: `Bearer ${token}` }
  for (const method of ['GET', 'POST'] as const) {
    const asked = { method, url: server.url, headers, body: method === 'POST' ? 'code=1' : '' }
    for (const to of [trap.url, '//127.0.0.1/', '/elsewhere', 'file:///etc/passwd']) {
      server.say = (socket) =>
        socket.end(`HTTP/1.1 ${status} Go\r\nlocation: ${to}\r\ncontent-length: 0\r\n\r\n`)
      await expect(requestDocument(dialer, asked, limits)).rejects.toMatchObject({
        code: 'upstream_protocol',
      })
    }
    server.say = (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
    expect((await requestDocument(dialer, asked, limits)).status).toBe(200)
  }
  expect(server.asked).toHaveLength(10)
  expect(server.asked.filter((text) => text.includes('/elsewhere'))).toEqual([])
})
