import { connect } from 'node:net'
import { errors, openApiDocument } from '@sallyport/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'

let api: ApiWorld
beforeAll(async () => {
  api = await startApi()
})
afterAll(() => api.close())

const bearer = () => ({ authorization: `Bearer ${api.tokens.admin}` })

test.each([
  [undefined],
  ['Bearer'],
  ['Bearer wrong'],
  ['Basic YWRtaW46YWRtaW4='],
  [`Bearer ${'x'.repeat(43)}`],
])('answers 401 to %s, and says how', async (authorization) => {
  const headers = authorization === undefined ? {} : { authorization }
  const reply = await api.send('GET', '/api/v1/whoami', { headers })
  expect(reply.status).toBe(401)
  expect(reply.headers['www-authenticate']).toBe('Bearer')
  expect(reply.json).toEqual({
    error: {
      code: 'not_authenticated',
      message: 'A valid token is needed.',
      who: 'guest',
      retry: false,
    },
  })
})

test('an unknown path is told apart only with a token', async () => {
  expect((await api.send('GET', '/api/v1/nothing')).status).toBe(401)
  const reply = await api.send('GET', '/api/v1/nothing', { headers: bearer() })
  expect([reply.status, reply.json.error.code]).toEqual([404, 'not_found'])
  expect((await api.send('GET', '/elsewhere', { headers: bearer() })).status).toBe(404)
  expect((await api.send('GET', '/api/v1/users/%ff', { headers: bearer() })).status).toBe(404)
})

test('another method is 405 with those that are allowed', async () => {
  const reply = await api.send('PUT', '/api/v1/connections', { headers: bearer() })
  expect([reply.status, reply.headers['allow']]).toEqual([405, 'GET, POST'])
  expect((await api.send('POST', '/healthz')).headers['allow']).toBe('GET, HEAD')
})

test('another host, or the page of another origin, is refused before anything else', async () => {
  const get = (headers: Record<string, string>) =>
    api.send('GET', '/api/v1/whoami', { headers: { ...bearer(), ...headers } })
  for (const headers of [
    { host: 'evil.example' },
    { host: `evil.example:${api.port}` },
    { origin: 'http://evil.example' },
    { origin: 'null' },
  ])
    expect((await get(headers)).status, JSON.stringify(headers)).toBe(403)
  expect((await api.send('GET', '/metrics', { headers: { host: 'evil.example' } })).status).toBe(
    403,
  )
  for (const name of ['127.0.0.1', 'localhost', '[::1]'])
    expect((await get({ host: `${name}:${api.port}` })).status).toBe(200)
  expect((await get({ origin: `http://localhost:${api.port}` })).status).toBe(200)
})

test('answers carry nothing to keep, to frame or to guess', async () => {
  const { headers } = await api.send('GET', '/api/v1/whoami', { headers: bearer() })
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'content-type': 'application/json',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  })
})

const good = '{"name":"eve","role":"member"}'
test.each([
  ['no body', undefined, 'bad_request', ''],
  ['half of one', '{"name":', 'bad_request', 'name'],
  ['a scalar', '7', 'bad_request', ''],
  ['a key twice', '{"name":"eve","role":"member","role":"admin"}', 'bad_request', 'role'],
  ['__proto__', '{"name":"eve","role":"member","__proto__":{}}', 'bad_request', '__proto__'],
  ['an unknown member', '{"name":"eve","role":"member","admin":true}', 'bad_request', 'admin'],
  ['a missing member', '{"name":"eve"}', 'bad_request', 'role'],
  ['a value out of the list', '{"name":"eve","role":"root"}', 'bad_request', 'role'],
  ['a name that is none', '{"name":"E V E","role":"member"}', 'bad_request', 'name'],
  ['bytes that are no text', Buffer.from([123, 255, 125]).toString('latin1'), 'bad_request', ''],
])('refuses a body with %s', async (_, body, code, field) => {
  const sent = { headers: bearer(), ...(body === undefined ? {} : { body }) }
  const reply = await api.send('POST', '/api/v1/users', sent)
  expect([reply.status, reply.json.error.code, reply.json.error.field]).toEqual([400, code, field])
})

test('takes the same body when it is right', async () => {
  const reply = await api.send('POST', '/api/v1/users', { headers: bearer(), body: good })
  expect([reply.status, reply.json.name]).toEqual([200, 'eve'])
})

test.each([
  ['unknown=1', 'unknown'],
  ['limit=0', 'limit'],
  ['limit=many', 'limit'],
  ['limit=1&limit=2', 'limit'],
  ['state=odd', 'state'],
  ['session=ses_1', 'session'],
])('refuses the query %s', async (query, field) => {
  const reply = await api.send('GET', `/api/v1/executions?${query}`, { headers: bearer() })
  expect([reply.status, reply.json.error.field]).toEqual([400, field])
})

test('a body where none belongs, or a query, is refused', async () => {
  const body = await api.send('POST', '/api/v1/resume', { headers: bearer(), body: '{}' })
  expect(body.status).toBe(400)
  const query = await api.send('GET', '/api/v1/whoami?a=1', { headers: bearer() })
  expect([query.status, query.json.error.field]).toEqual([400, 'a'])
})

test('a body over a mebibyte is refused, announced or not', async () => {
  const body = JSON.stringify({ name: 'x'.repeat(1024 * 1024), role: 'member' })
  const announced = await api.send('POST', '/api/v1/users', {
    headers: { ...bearer(), 'content-length': String(Buffer.byteLength(body)) },
    body,
  })
  expect([announced.status, announced.json.error.code]).toEqual([413, 'too_large'])
  const head = `POST /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\nAuthorization: Bearer ${api.tokens.admin}\r\nTransfer-Encoding: chunked\r\n\r\n`
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`
  expect(await endless(head, chunk)).toMatch(/^HTTP\/1.1 413 /)
})

test('a body without end, of nobody, has its answer at once', async () => {
  const head = `POST /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\nTransfer-Encoding: chunked\r\n\r\n`
  expect(await endless(head, '1\r\nx\r\n')).toMatch(/^HTTP\/1.1 401 /)
})

/** Writes chunks until an answer is there; what was read then. */
function endless(head: string, chunk: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(api.port, '127.0.0.1')
    const end = (text: string): void => {
      socket.destroy()
      resolve(text)
    }
    const more = (): void => {
      if (!socket.destroyed) socket.write(chunk, more)
    }
    socket.on('data', (data) => end(data.toString()))
    socket.on('error', reject)
    socket.write(head, more)
  })
}

test('a caller that leaves in the middle of a body is no failure of ours', async () => {
  const before = api.log.length
  const socket = connect(api.port, '127.0.0.1')
  const head = `POST /api/v1/users HTTP/1.1\r\nHost: 127.0.0.1:${api.port}\r\nAuthorization: ${bearer().authorization}\r\nContent-Length: 100\r\n\r\n{`
  await new Promise<void>((resolve) => socket.write(head, () => resolve()))
  await expect.poll(async () => (await api.send('GET', '/healthz')).status).toBe(200)
  socket.resetAndDestroy()
  await expect
    .poll(() => api.log.slice(before).some((line) => line.includes('user.create')))
    .toBe(true)
  expect(api.log.slice(before).filter((line) => line.includes('failed'))).toEqual([])
})

test('the OpenAPI document is there without a token', async () => {
  const reply = await api.send('GET', '/api/v1/openapi.json')
  expect(reply.json).toEqual(JSON.parse(JSON.stringify(openApiDocument())))
})

test('is alive always, ready while store answers and a worker of this release is up', async () => {
  expect((await api.send('GET', '/healthz')).status).toBe(200)
  const ready = await api.send('GET', '/readyz')
  expect([ready.status, ready.json]).toEqual([
    200,
    {
      status: 'ready',
      gateway: { release: '0.1.0', build: 'test' },
      worker: { state: 'up', release: '0.1.0', build: 'test', isolation: null },
      store: { state: 'ok', code: null },
    },
  ])
  const { info_ } = api.worker
  api.worker.info_ = { ...info_, release: '0.0.9' }
  expect((await api.send('GET', '/readyz')).status).toBe(503)
  api.worker.info_ = { ...info_, state: 'down', release: null }
  expect(await api.send('GET', '/readyz')).toMatchObject({
    status: 503,
    json: { status: 'not_ready', worker: { state: 'down' } },
  })
  api.worker.info_ = info_
  expect((await api.send('HEAD', '/readyz')).text).toBe('')
})

test('metrics have these names', async () => {
  const { text, headers } = await api.send('GET', '/metrics')
  expect(headers['content-type']).toMatch(/^text\/plain/)
  for (const name of [
    'sallyport_calls_total',
    'sallyport_call_seconds',
    'sallyport_barrier_group_size',
    'sallyport_worker_up 1',
    'sallyport_sessions_open 0',
    'sallyport_guest_requests_total',
    'sallyport_api_requests_total{route="whoami.show",status="200"}',
    'process_resident_memory_bytes',
  ])
    expect(text).toContain(name)
})

test('an error of ours says nothing of itself, and the log has it', async () => {
  const { users } = api.store
  const list = () => Promise.reject(new Error('inner detail'))
  const fail = (value: unknown) =>
    Object.defineProperty(api.store, 'users', { value, configurable: true })
  fail(
    Object.assign(Object.create(users), {
      list,
      get: users.get.bind(users),
      tokenByHash: users.tokenByHash.bind(users),
    }),
  )
  const reply = await api.call('admin', 'user.list')
  fail(users)
  expect([reply.status, reply.json.error]).toEqual([
    500,
    { code: 'internal', message: errors.internal.text, who: 'operator', retry: false },
  ])
  expect(api.log.filter((line) => line.includes('inner detail'))).toHaveLength(1)
})
