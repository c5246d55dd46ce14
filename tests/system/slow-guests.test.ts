/** Guests that do not read, do not end, do not speak, or ask too much: they harm nobody else. */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { connectAndGrant, type OpenSession } from '../harness/setup-connection.ts'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { defaultTools, startUpstream, type Upstream } from '../upstreams/scripted-upstream.ts'
import { runCommand } from './commands.ts'
import { eventually } from './eventually.ts'
import { RawGuest } from './raw-guest.ts'

const mebibyte = 1024 * 1024
/** More than the buffers of both ends hold. */
const resultBytes = 12 * mebibyte
/** What the endpoint lets a guest take nothing for. */
const stallMs = 60_000
const isThorough = process.env['SALLYPORT_TEST_ALL'] === '1'

let home: string
let upstream: Upstream
let sallyport: Sallyport
let session: OpenSession
let stalled: Stalled
const sockets: Socket[] = []

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'sallyport-slow-'))
  upstream = await startUpstream({ tools: defaultTools })
  sallyport = await startSallyport()
  session = await connectAndGrant(sallyport, {
    name: 'slow',
    url: upstream.url,
    limits: { resultBytes: 16 * mebibyte },
    profile: 'slow',
    read: ['big', 'echo', 'slow'],
  })
  // Begun here and judged last: being cut takes its time.
  stalled = await stall()
})
afterEach(async () => {
  upstream.behave()
  upstream.answerHeld()
  for (const name of ['maxCallsPerSession', 'requestsPerMinutePerSession'])
    await sallyport.api('setting.unset', { name })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await sallyport?.remove()
  await upstream?.close()
  rmSync(home, { recursive: true, force: true })
})

interface Stalled {
  readonly socket: Socket
  readonly since: number
}

async function openSession(): Promise<RawGuest> {
  const { token } = await sallyport.api('session.create', {}, { profile: 'slow' })
  return guestWith(token)
}

function guestWith(token: string): RawGuest {
  return new RawGuest({ endpoint: `${sallyport.guestUrl}/mcp/slow`, token, era: 'modern' })
}

/** A connection to the guest endpoint that nothing is written to. */
async function bareSocket(): Promise<Socket> {
  const { hostname, port } = new URL(sallyport.guestUrl)
  const socket = connect({ host: hostname, port: Number(port) })
  sockets.push(socket)
  socket.on('error', () => {})
  await once(socket, 'connect')
  return socket
}

function head(token: string, ...lines: string[]): string {
  const { host } = new URL(sallyport.guestUrl)
  const fixed = [
    'POST /mcp/slow HTTP/1.1',
    `Host: ${host}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    'Accept: application/json',
  ]
  return `${[...fixed, ...lines].join('\r\n')}\r\n\r\n`
}

/** Asks for a large result and reads nothing of it. */
async function stall(): Promise<Stalled> {
  const { token } = await sallyport.api('session.create', {}, { profile: 'slow' })
  const socket = await bareSocket()
  socket.pause()
  const params = { name: 'big', arguments: { bytes: resultBytes } }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
  socket.write(head(token, `Content-Length: ${body.length}`) + body)
  await eventually(
    () => socket.readableLength,
    (waiting) => waiting > 0,
    20_000,
  )
  return { socket, since: performance.now() }
}

/** Calls of a session that is nobody's neighbour: all are answered, none late. */
async function expectServed(calls = 40): Promise<void> {
  const guest = await openSession()
  for (let n = 0; n < calls; n++) {
    const started = performance.now()
    expect(await guest.call('echo', `{"n":${n}}`)).toMatchObject({ text: `{"n":${n}}` })
    expect(performance.now() - started).toBeLessThan(lateMs)
  }
}

const lateMs = 5_000

test('guests that read nothing of large results delay no other session', async () => {
  const more = await Promise.all(Array.from({ length: 8 }, stall))
  await expectServed()
  for (const { socket } of more) socket.destroy()
})

test('a body without end gets its 401 at once when the bearer is wrong, and others go on', async () => {
  const chunk = `400\r\n${' '.repeat(1024)}\r\n`
  const senders = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const socket = await bareSocket()
      let got = ''
      const answered = new Promise<number>((resolve) => {
        socket.on('data', (data) => {
          got += data
          if (got.includes('\r\n\r\n')) resolve(performance.now())
        })
      })
      const sending = setInterval(() => socket.write(chunk), 5)
      socket.once('close', () => clearInterval(sending))
      const started = performance.now()
      socket.write(head('x'.repeat(43), 'Transfer-Encoding: chunked') + chunk)
      return { socket, got: () => got, tookMs: async () => (await answered) - started }
    }),
  )
  await expectServed()
  for (const { got, tookMs } of senders) {
    expect(await tookMs()).toBeLessThan(lateMs)
    expect(got()).toMatch(/^HTTP\/1\.1 401 [\s\S]*www-authenticate: Bearer/i)
  }
  // Whoever goes on sending all the same is cut.
  await eventually(
    () => senders.filter(({ socket }) => !socket.closed).length,
    (open) => open === 0,
    10_000,
  )
})

test('the control: with a good bearer the body is read until it is too large', async () => {
  const socket = await bareSocket()
  let got = ''
  socket.on('data', (data) => {
    got += data
  })
  socket.write(head(session.token, 'Transfer-Encoding: chunked'))
  socket.write(`400\r\n${' '.repeat(1024)}\r\n`)
  await sleep(300)
  expect(got).toBe('')
  const large = `100000\r\n${' '.repeat(mebibyte)}\r\n`
  for (let n = 0; n < 6 && got === ''; n++)
    if (!socket.write(large)) await Promise.race([once(socket, 'drain'), sleep(500)])
  await eventually(
    () => got,
    (text) => text.startsWith('HTTP/1.1 413 '),
  )
})

test('connections that say nothing do no harm and are closed, those of a session are kept', async () => {
  const silent = await Promise.all(Array.from({ length: 200 }, bareSocket))
  for (const socket of silent) socket.resume()
  const { token } = await sallyport.api('session.create', {}, { profile: 'slow' })
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const kept = await Promise.all(
    Array.from({ length: 100 }, async () => {
      const socket = await bareSocket()
      socket.write(head(token, `Content-Length: ${body.length}`) + body)
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
      return socket.resume()
    }),
  )
  await expectServed()
  const open = () => silent.filter(({ closed }) => !closed).length
  await eventually(open, (left) => left === 0, 25_000)
  expect(kept.filter(({ closed }) => !closed)).toHaveLength(100)
  await expectServed(5)
  for (const socket of kept) socket.destroy()
}, 60_000)

test('a session with as many calls as it may have is told to wait; another is served', async () => {
  const guest = await openSession()
  const changed = await sallyport.api('setting.set', { name: 'maxCallsPerSession' }, { value: 3 })
  expect(changed).toMatchObject({ state: 'set', value: 3 })
  upstream.misbehave({ kind: 'hang' }, { method: 'tools/call', tool: 'slow' })
  const before = upstream.count('tools/call')
  const held = Array.from({ length: 3 }, () => guest.call('slow', '{"ms":0}'))
  await upstream.received('tools/call', before + 3)
  const refused = await guest.ask('tools/call', '{"name":"echo","arguments":{}}')
  expect([refused.status, refused.error?.code]).toEqual([429, -32000])
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect((await guest.ask('tools/list')).status).toBe(200)
  await expectServed(5)
  upstream.answerHeld()
  expect(await Promise.all(held)).toMatchObject([
    { text: 'late' },
    { text: 'late' },
    { text: 'late' },
  ])
  expect(await guest.call('echo')).toMatchObject({ isError: false })
})

test('requests a minute: changed on the command line, it holds for the very next request', async () => {
  const guest = await openSession()
  const place = { dataDir: sallyport.dataDir, home }
  const set = async (value: number) => {
    const words = ['settings', 'set', 'requestsPerMinutePerSession', String(value)]
    expect(await runCommand(words, place)).toMatchObject({ code: 0, stderr: '' })
  }
  const statuses = async (asked: number) => {
    const answers = []
    for (let n = 0; n < asked; n++) answers.push((await guest.ask('tools/list')).status)
    return answers
  }
  expect(await statuses(5)).toEqual([200, 200, 200, 200, 200])
  await set(2)
  expect(await statuses(4)).toEqual([200, 200, 429, 429])
  const refused = await guest.ask('tools/list')
  expect(refused.error?.code).toBe(-32000)
  const wait = Number(refused.headers.get('retry-after'))
  expect(wait).toBeGreaterThan(20)
  expect(wait).toBeLessThanOrEqual(30)
  expect(await (await openSession()).ask('tools/list')).toMatchObject({ status: 200 })

  await set(120)
  await sleep(600)
  expect(await statuses(1)).toEqual([200])
  const soon = await eventually(
    () => guest.ask('tools/list'),
    ({ status }) => status === 429,
  )
  expect(soon.headers.get('retry-after')).toBe('1')
  await sleep(1_000)
  expect(await statuses(1)).toEqual([200])

  expect(
    await runCommand(['settings', 'unset', 'requestsPerMinutePerSession'], place),
  ).toMatchObject({ code: 0 })
  await sleep(100)
  expect(await statuses(5)).toEqual([200, 200, 200, 200, 200])
  const bad = await runCommand(['settings', 'set', 'requestsPerMinutePerSession', '0'], place)
  expect(bad.code).not.toBe(0)
})

// The endpoint's own tests cut sooner, with a shorter limit.
test.runIf(isThorough)(
  'a guest that reads nothing is cut after two minutes at the latest',
  {
    timeout: 3 * stallMs,
  },
  async () => {
    const { socket, since } = stalled
    // The limit counts from the last byte that was taken, and is looked at as often as it is long.
    await sleep(Math.max(0, since + 2 * stallMs + 3_000 - performance.now()))
    let bytes = 0
    socket.on('data', (data) => {
      bytes += data.length
    })
    socket.resume()
    await eventually(() => socket.closed, Boolean)
    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThan(resultBytes)
  },
)
