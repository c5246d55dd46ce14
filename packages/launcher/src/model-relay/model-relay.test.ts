import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
} from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Denials } from '../outlets/denials.ts'
import { systemResolve } from '../outlets/reach.ts'
import { ModelRelay, type ModelRelayOptions } from './model-relay.ts'
import { modelUpstream } from './model-upstream.ts'

/** For a machine with much else to do. */
const soon = { timeout: 10_000 }

let folder: string
let service: Server
let seen: IncomingMessage[]
let serve: RequestListener
let relay: ModelRelay | undefined
const denials = new Denials({ resolve: systemResolve, onGrown: () => undefined })

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-relay-'))
  seen = []
  serve = (_, answer) => answer.end('said')
  service = createServer((ask, answer) => {
    seen.push(ask)
    serve(ask, answer)
  })
  service.listen(0, '127.0.0.1')
  await once(service, 'listening')
})
afterEach(async () => {
  await relay?.close()
  relay = undefined
  service.closeAllConnections()
  service.close()
  rmSync(folder, { recursive: true })
})

const socketPath = () => join(folder, 'model.sock')
const portOf = () => (service.address() as { port: number }).port

async function open(more: Partial<ModelRelayOptions> = {}): Promise<void> {
  relay = await ModelRelay.open({
    socketPath: socketPath(),
    upstream: modelUpstream('openai', `http://127.0.0.1:${portOf()}/v1`),
    key: 'K',
    denials,
    resolve: systemResolve,
    admits: () => true,
    ...more,
  })
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly headers?: Record<string, string>
  readonly body?: string | Buffer
}

const ask = ({ method = 'POST', path = '/v1/responses', headers = {}, body = '' }: Asked = {}) =>
  new Promise<{ status: number; headers: IncomingMessage['headers']; body: string }>(
    (resolve, reject) => {
      const out = request({ socketPath: socketPath(), method, path, headers, agent: false })
      out.on('error', reject)
      out.on('response', (got) => {
        const { statusCode: status = 0, headers } = got
        text(got).then((body) => resolve({ status, headers, body }), reject)
      })
      out.end(body)
    },
  )
const code = (body: string) => JSON.parse(body).error.code

test('a request arrives with the key of the relay and without the one of the guest', async () => {
  await open()
  serve = async (asked, answer) => answer.end(`got ${await text(asked)}`)
  const sent = { headers: { authorization: 'Bearer guess', 'x-own': '1' }, body: 'question' }
  expect(await ask(sent)).toMatchObject({ status: 200, body: 'got question' })
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer K', 'x-own': '1' })
  expect(seen[0]?.headers.host).toBe(`127.0.0.1:${portOf()}`)
})

test('only the paths of the model are relayed', async () => {
  await open()
  const other = await ask({ path: '/admin' })
  expect(other.status).toBe(403)
  expect(code(other.body)).toBe('model_refused')
  expect(seen).toEqual([])
  expect((await ask({ path: '/v1/models', method: 'GET' })).status).toBe(200)
})

test('an answer streams: its beginning is there before its end is known', async () => {
  await open()
  let finish = (): void => undefined
  serve = (_, answer) => {
    answer.write('begin')
    finish = () => answer.end('end')
  }
  const out = request({ socketPath: socketPath(), method: 'POST', path: '/v1/x', agent: false })
  out.end()
  const [got] = (await once(out, 'response')) as [IncomingMessage]
  expect(String((await once(got, 'data'))[0])).toBe('begin')
  finish()
  expect(await text(got)).toBe('end')
})

test('a guest that does not read stops the service from being read', async () => {
  await open()
  let written = 0
  let isDone = false
  serve = (_, answer) => {
    const chunk = Buffer.alloc(1024 * 1024)
    const more = (): void => {
      while (written < 64 && answer.write(chunk)) written++
      written++
      if (written < 64) answer.once('drain', more)
      else isDone = true
    }
    more()
  }
  const out = request({ socketPath: socketPath(), method: 'POST', path: '/v1/x', agent: false })
  out.end()
  const [got] = (await once(out, 'response')) as [IncomingMessage]
  await expect.poll(() => written, soon).toBeGreaterThan(0)
  // Nothing moves any more: the buffers on the way are full, and 64 MiB are not among them.
  let before = -1
  await expect
    .poll(
      () => {
        const isStill = before === written
        before = written
        return isStill
      },
      { interval: 200, ...soon },
    )
    .toBe(true)
  expect(isDone).toBe(false)
  got.resume()
  await expect.poll(() => isDone, soon).toBe(true)
  out.destroy()
})

test('a redirection within the model is handed back, to be asked for here', async () => {
  await open()
  serve = (_, answer) => answer.writeHead(307, { location: '/v1/there?a=1' }).end()
  expect(await ask()).toMatchObject({ status: 307, headers: { location: '/v1/there?a=1' } })
  serve = (asked, answer) =>
    answer.writeHead(307, { location: `http://${asked.headers.host}/v1/there` }).end()
  expect(await ask()).toMatchObject({ status: 307, headers: { location: '/v1/there' } })
  expect(seen).toHaveLength(2)
})

test.each([
  '/other',
  'http://elsewhere.example/v1/x',
  '//elsewhere.example/v1/x',
  '/v1/../x',
  'http://[',
])('a redirection to %s is refused, and nobody follows it', async (location) => {
  await open()
  serve = (_, answer) => answer.writeHead(302, { location }).end()
  const got = await ask()
  expect(got.status).toBe(403)
  expect(code(got.body)).toBe('model_refused')
  expect(got.headers.location).toBeUndefined()
  expect(seen).toHaveLength(1)
})

test('cookies of the service stay outside', async () => {
  await open()
  serve = (_, answer) => answer.setHeader('set-cookie', ['a=1', 'b=2']).end('x')
  expect((await ask()).headers['set-cookie']).toBeUndefined()
})

test('a request over the limit is refused, announced or not; one at the limit passes', async () => {
  await open({ limits: { requestBytes: 1000 } })
  serve = async (asked, answer) => answer.end(String((await text(asked)).length))
  const announced = { headers: { 'content-length': '1001' }, body: 'x'.repeat(1001) }
  expect(code((await ask(announced)).body)).toBe('too_large')
  const chunked = { headers: { 'transfer-encoding': 'chunked' }, body: 'x'.repeat(1001) }
  expect(code((await ask(chunked)).body)).toBe('too_large')
  expect(await ask({ body: 'x'.repeat(1000) })).toMatchObject({ status: 200, body: '1000' })
})

test('an answer over the limit is cut', async () => {
  await open({ limits: { answerBytes: 1000 } })
  serve = (_, answer) => {
    answer.write('x'.repeat(999))
    answer.end('xx')
  }
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' })
  serve = (_, answer) => answer.end('x'.repeat(1000))
  expect((await ask()).body).toHaveLength(1000)
})

test('an exchange in which nothing moves ends, and one that takes too long', async () => {
  await open({ limits: { idleMs: 50 } })
  serve = () => undefined
  expect(code((await ask()).body)).toBe('model_unreachable')
  await relay?.close()
  await open({ limits: { totalMs: 150 } })
  serve = (_, answer) => {
    const more = setInterval(() => answer.write('.'), 10)
    answer.once('close', () => clearInterval(more))
  }
  await expect(ask()).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('more exchanges at once than there may be are told to come later', async () => {
  await open({ limits: { exchanges: 1 } })
  let finish = (): void => undefined
  serve = (_, answer) => {
    finish = () => answer.end('first')
  }
  const first = ask()
  await expect.poll(() => seen.length, soon).toBe(1)
  expect(code((await ask()).body)).toBe('too_many')
  finish()
  expect(await first).toMatchObject({ body: 'first' })
  serve = (_, answer) => answer.end('next')
  expect(await ask()).toMatchObject({ body: 'next' })
})

test('a guest that leaves ends the exchange with the service', async () => {
  await open()
  let isClosed = false
  serve = (asked) => void asked.socket.once('close', () => (isClosed = true))
  const out = request({ socketPath: socketPath(), method: 'POST', path: '/v1/x', agent: false })
  out.on('error', () => undefined)
  out.end()
  await expect.poll(() => seen.length, soon).toBe(1)
  out.destroy()
  await expect.poll(() => isClosed, soon).toBe(true)
})

test('a service that is not there is told as such', async () => {
  await open()
  service.close()
  service.closeAllConnections()
  const got = await ask()
  expect(got.status).toBe(502)
  expect(code(got.body)).toBe('model_unreachable')
})

test('the deny set beats the operator, also while connections to the model are kept', async () => {
  const own = new Denials({ resolve: systemResolve, onGrown: () => relay?.endDenied() })
  await open({ denials: own })
  expect((await ask()).status).toBe(200)
  const entries = [{ host: '127.0.0.1', port: portOf() }]
  await own.replace({ revision: 1, digest: 'sha256:1', entries })
  const got = await ask()
  expect(code(got.body)).toBe('host_denied')
  expect(seen).toHaveLength(1)
})

test('whoever is not admitted is not answered, and the socket is of its user alone', async () => {
  let isAdmitted = false
  await open({ admits: () => isAdmitted })
  await expect(ask()).rejects.toMatchObject({ code: expect.stringMatching(/ECONNRESET|EPIPE/) })
  expect(seen).toEqual([])
  isAdmitted = true
  expect((await ask()).status).toBe(200)
  expect(statSync(socketPath()).mode & 0o777).toBe(0o600)
})

test('a request to become something else is an ordinary one', async () => {
  await open()
  const raw = connect(socketPath())
  raw.write('GET /v1/x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n')
  await expect.poll(() => seen.length, soon).toBe(1)
  expect(seen[0]?.headers.upgrade).toBeUndefined()
  raw.destroy()
})

test('two lengths, or a length and chunks, are no request', async () => {
  await open()
  for (const head of [
    'content-length: 3\r\ncontent-length: 4\r\n',
    'content-length: 3\r\ntransfer-encoding: chunked\r\n',
  ]) {
    const raw = connect(socketPath())
    raw.write(`POST /v1/x HTTP/1.1\r\nhost: a\r\n${head}\r\nabcd`)
    expect(await text(raw)).toMatch(/^HTTP\/1.1 400 /)
  }
  expect(seen).toEqual([])
})
