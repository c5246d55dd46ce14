/** What a shim adds to MCP: whose ids are whose, what became of answers, of which release it is. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type CallOutcome, resetWithinMs } from '@sallyport/core'
import { shimHeaders } from '@sallyport/protocol/shim'
import { afterEach, expect, test } from 'vitest'
import {
  boundTool,
  result,
  type Script,
  type ScriptedEndpoint,
  startScripted,
} from './scripted-core.ts'
import { bareSocket, bearerHead, eventually, modern, rpc, send } from './scripted-guest.ts'
import { guestServerOptions } from './timing.ts'

let at: ScriptedEndpoint
const sockets: Socket[] = []
const servers: Server[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const server of servers.splice(0)) server.close()
  await at.close()
})

const id = (n: number): string => n.toString(16).padStart(32, '0')
const shim = (n: number, more: Record<string, string> = {}) => ({
  [shimHeaders.shim]: id(n),
  [shimHeaders.release]: '9.9.9',
  ...more,
})
const call = rpc('tools/call', { name: 'files__read' })

/** Calls are answered when they are released; `log` hears what becomes of the answers. */
async function start(script: Script = {}) {
  const log: string[] = []
  const release: (() => void)[] = []
  at = await startScripted({
    ...script,
    answer: async ({ callId, cancelled }) => {
      const short = callId.replace(/^0+/, '')
      const delivery = {
        collected: () => log.push(`${short} collected`),
        lost: () => log.push(`${short} lost`),
      }
      await new Promise<void>((resolve) => {
        release.push(resolve)
        cancelled?.addEventListener('abort', () => {
          log.push(`${short} cancelled`)
          resolve()
        })
      })
      const value = { content: [{ type: 'text', text: 'done' }] }
      return { ...result(value), delivery } as CallOutcome
    },
  })
  return { log, release }
}

/** One call on a connection that stays. */
async function ask(n: number, more: readonly string[] = []) {
  const socket = await bareSocket(at)
  sockets.push(socket)
  const lines = Object.entries(shim(1, { [shimHeaders.call]: id(n) })).map(
    ([name, value]) => `${name}: ${value}`,
  )
  socket.write(bearerHead(at, [...more, ...lines, `Content-Length: ${call.length}`]) + call)
  const before = at.calls.length
  await eventually(() => at.calls.length > before)
  return socket
}

const tell = (fate: 'delivered' | 'lost', n: number) =>
  send(at, { headers: shim(1, { [shimHeaders[fate]]: id(n) }) })

async function answered(n: number, more: readonly string[] = []) {
  const { log, release } = await start()
  const socket = await ask(n, more)
  release[0]?.()
  await eventually(() => socket.got.includes('done'))
  return { log, socket }
}

test('an answer is collected when the shim says so, and no sooner', async () => {
  const { log, socket } = await answered(0xa)
  expect(log).toEqual([])
  expect(await tell('delivered', 0xa)).toMatchObject({ status: 202, text: '' })
  expect(log).toEqual(['a collected'])
  socket.destroy()
  await eventually(() => at.connections() === 0)
  expect(log).toEqual(['a collected'])
})

test('an answer is lost when its connection ends without a word, in order as it may be', async () => {
  const { log, socket } = await answered(0xa)
  socket.end()
  await eventually(() => log.length > 0)
  expect(log).toEqual(['a lost'])
  await tell('delivered', 0xa)
  expect(log).toEqual(['a lost'])
})

test('an answer is lost when the shim says so', async () => {
  const { log } = await answered(0xa)
  await tell('lost', 0xa)
  expect(log).toEqual(['a lost'])
})

test('a connection for one request ends with it, and the word may still come', async () => {
  const { log } = await answered(0xa, ['Connection: close'])
  await eventually(() => at.connections() === 0)
  expect(log).toEqual([])
  await tell('delivered', 0xa)
  expect(log).toEqual(['a collected'])
})

test('what nobody says a word of for a minute is lost', async () => {
  const { log, release } = await start()
  for (const [n, lostBefore] of [0, 0, 1].entries()) {
    const socket = await ask(n + 0xa)
    release[n]?.()
    await eventually(() => socket.got.includes('done') && log.length === lostBefore)
    at.clock.now += resetWithinMs / 2 + 1
  }
  expect(log).toEqual(['a lost'])
})

test('the word of another session settles nothing', async () => {
  const { log } = await answered(0xa)
  const { token } = at.addSession()
  const headers = shim(1, { [shimHeaders.delivered]: id(0xa) })
  expect(await send(at, { token, headers })).toMatchObject({ status: 202 })
  expect(log).toEqual([])
  await tell('delivered', 0xa)
  expect(log).toEqual(['a collected'])
})

test('what became of answers does not count as a request', async () => {
  at = await startScripted({
    options: {
      settings: () => ({ bodyLimitBytes: 9_999, maxCallsPerSession: 9, requestsPerMinute: 2 }),
    },
  })
  const ping = () => send(at, { headers: shim(1), body: rpc('ping') })
  for (let n = 1; n < 9; n++) expect(await tell('delivered', n)).toMatchObject({ status: 202 })
  expect([(await ping()).status, (await ping()).status, (await ping()).status]).toEqual([
    200, 200, 429,
  ])
})

test('the id of a call is the one of the shim, unless the harness has its own', async () => {
  at = await startScripted()
  const headers = shim(1, { [shimHeaders.call]: id(0xa) })
  await send(at, { headers, body: call })
  const _meta = { 'claudecode/toolUseId': 'toolu_1' }
  await send(at, { headers, body: rpc('tools/call', { name: 'files__read', _meta }) })
  await send(at, { headers: { ...headers, [shimHeaders.call]: 'no id' }, body: call })
  expect(at.calls.map(({ callId }) => callId).slice(0, 2)).toEqual([id(0xa), 'toolu_1'])
  expect(at.calls[2]?.callId).toMatch(/^[a-z0-9]+-[A-Za-z0-9_-]{22}$/)
  expect(at.calls.map(({ isCallIdOurs = false }) => isCallIdOurs)).toEqual([false, false, true])
})

const cancel = rpc('notifications/cancelled', { requestId: 7 }).replace('"id":1,', '')

test.each(['legacy', 'modern'] as const)(
  'two shims count their requests from the same number, and each cancels its own (%s)',
  async (era) => {
    const { log } = await start()
    const calls = [1, 2].map((n) => {
      const params = { name: 'files__read', _meta: {} }
      const asked =
        era === 'modern'
          ? modern('tools/call', params, 7)
          : { headers: {}, body: rpc('tools/call', params, 7) }
      const headers = { ...asked.headers, ...shim(n, { [shimHeaders.call]: id(n) }) }
      return send(at, { headers, body: asked.body })
    })
    await eventually(() => at.calls.length === 2)
    const told =
      era === 'modern'
        ? {
            headers: {
              'mcp-protocol-version': '2026-07-28',
              'mcp-method': 'notifications/cancelled',
            },
          }
        : { headers: {} }
    await send(at, { headers: { ...told.headers, ...shim(2) }, body: cancel })
    await calls[1]
    expect(log).toEqual(['2 cancelled'])
    await send(at, { headers: { ...told.headers, ...shim(1) }, body: cancel })
    await calls[0]
    expect(log).toEqual(['2 cancelled', '1 cancelled'])
  },
)

test('a shim of another release is told how to replace it, before its message is read', async () => {
  at = await startScripted()
  const headers = shim(1, { [shimHeaders.release]: '9.9.8' })
  const refused = await send(at, { headers, body: call })
  expect(refused).toMatchObject({ status: 409, json: { id: null, error: { code: -32600 } } })
  expect(refused.json.error.message).toContain('sallyport-shim.mjs')
  expect(at.calls).toEqual([])
  expect(await send(at, { headers: shim(1), body: call })).toMatchObject({ status: 200 })
  const stranger = await send(at, { token: null, headers, body: call })
  expect(stranger.status).toBe(401)
})

/** A listener that only the guest of a session reaches. */
async function boundTo(session: string): Promise<ScriptedEndpoint> {
  const server = createServer(guestServerOptions, at.endpoint.handleOf(session as never))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { ...at, port: (server.address() as AddressInfo).port }
}

test('on a listener of its own a session needs no bearer, and no other session speaks there', async () => {
  at = await startScripted({ tools: [boundTool()] })
  const own = await boundTo('ses_1')
  const other = at.addSession()
  const ask = (headers = {}) => send(own, { token: null, headers, body: call })
  expect(await ask()).toMatchObject({ status: 200 })
  expect(await ask({ authorization: `Bearer ${other.token}` })).toMatchObject({ status: 200 })
  expect(at.calls.map(({ session }) => session.id)).toEqual(['ses_1', 'ses_1'])
  expect(await ask({ host: 'any.name' })).toMatchObject({ status: 200 })
  expect(await ask({ origin: 'http://page.example' })).toMatchObject({ status: 403 })
})

test.each([
  ['verifying', 403],
  ['ended', 401],
] as const)('a session that is %s is refused on its own listener too', async (state, status) => {
  at = await startScripted()
  const own = await boundTo('ses_1')
  expect(await send(own, { token: null, body: call })).toMatchObject({ status: 200 })
  at.set({ state })
  expect(await send(own, { token: null, body: call })).toMatchObject({ status })
  expect(await send(await boundTo('ses_9'), { token: null, body: call })).toMatchObject({
    status: 401,
  })
})
