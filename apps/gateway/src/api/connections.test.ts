import { SallyportError } from '@sallyport/protocol'
import { readSealHeader, sealConnection } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, type Ask, startApi } from '../../../../tests/authority/api-world.ts'
import {
  addConnection,
  addProfile,
  enabledConnection,
  listingOf,
} from '../../../../tests/authority/world.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

const plain = {
  allowPlaintext: true,
  url: 'https://docs.example.com/mcp?key=SENTINEL-query',
  secret: { token: 'SENTINEL-token', headers: [{ name: 'X-Key', value: 'SENTINEL-header' }] },
}
const create = (body: object) => api.call('admin', 'connection.create', { body })
const edit = (body: object) =>
  api.call('admin', 'connection.edit', { params: { name: 'docs' }, body })

test('text is refused unless its sender says that it cannot seal', async () => {
  const { allowPlaintext: _, ...text } = plain
  const reply = await create({ name: 'docs', ...text })
  expect([reply.status, reply.json.error.code, reply.json.error.field]).toEqual([
    400,
    'plaintext_refused',
    'url',
  ])
  expect(await api.store.connections.list()).toEqual([])
})

test('text is sealed at once to the row it is for', async () => {
  const { json } = await create({ name: 'docs', ...plain })
  expect(json).toMatchObject({
    state: 'draft',
    endpoint: 'https://docs.example.com:443',
    auth: 'bearer',
    headerNames: ['X-Key'],
    credential: { version: 1, state: 'active' },
    plaintext: true,
  })
  expect(api.log.join('\n')).toContain('a secret came as text')
  const row = await api.store.connections.get(json.id)
  expect(readSealHeader(row?.endpointSeal ?? '').sallyport).toEqual({
    kind: 'endpoint',
    id: json.id,
    scope: 'org',
    version: 1,
  })
})

test('a secret alone is sealed for the URL that is named beside it', async () => {
  const { json } = await create({ name: 'docs', ...plain })
  const secret = { token: 'new' }
  expect((await edit({ allowPlaintext: true, secret })).json.error).toMatchObject({
    code: 'bad_request',
    field: 'url',
  })
  const kept = await edit({ allowPlaintext: true, keepEndpoint: true, url: plain.url, secret })
  expect(kept.json).toMatchObject({
    revision: 1,
    credential: { id: json.credential.id, version: 2 },
    headerNames: [],
    plaintext: true,
  })
  const moved = await edit({ allowPlaintext: true, url: 'https://b.example.com/', secret })
  expect(moved.json).toMatchObject({
    revision: 2,
    endpoint: 'https://b.example.com:443',
    credential: { id: json.credential.id, version: 3 },
  })
  const dropped = await edit({
    allowPlaintext: true,
    url: 'https://c.example.com/',
    credential: null,
  })
  expect(dropped.json).toMatchObject({ revision: 3, auth: 'none', credential: null })
})

test('what came sealed, and what brought no secret, is not told as text', async () => {
  const id = api.deps.ids('connection')
  const { endpoint } = sealConnection({
    url: plain.url,
    headers: [],
    ...{ connectionId: id, revision: 1, credentialId: api.deps.ids('credential') },
    ...{ credentialVersion: 1, scope: 'org', key: api.key, localAllowed: false },
  })
  expect((await create({ id, name: 'docs', endpoint })).json).toMatchObject({ plaintext: false })
  const renamed = await edit({ required: true, allowPlaintext: true })
  expect(renamed.json).toMatchObject({ required: true, plaintext: false })
  expect(api.log.join('\n')).not.toContain('a secret came as text')
})

test('text and seals are not mixed', async () => {
  const { endpoint } = await sealedEndpoint()
  expect((await create({ name: 'docs', ...plain, endpoint })).json.error.code).toBe('bad_request')
})

async function sealedEndpoint() {
  const connection = await addConnection(api, api.alice, { scope: 'personal', name: 'x' })
  return { endpoint: { seal: connection.endpointSeal, clear: connection.endpointClear } }
}

test.each([
  [{ url: 'http://example.com/mcp' }, 'bad_url', 'url'],
  [{ url: 'https://u:p@example.com/mcp' }, 'bad_url', 'url'],
  [{ secret: { token: 'a\nb' } }, 'bad_secret', 'token'],
  [{ secret: { headers: [{ name: 'Host', value: 'x' }] } }, 'bad_header', 'headers'],
  [{ name: 'No Name' }, 'bad_name', 'name'],
  [{ scope: 'team' }, 'bad_request', 'scope'],
  [{ limits: { callMs: 1 } }, 'bad_request', 'limits/callMs'],
])('refuses %j', async (change, code, field) => {
  const reply = await create({ name: 'docs', ...plain, ...change })
  expect(reply.json.error).toMatchObject({ code, field })
})

test('a connection toward one of our own listeners is refused', async () => {
  const url = `http://localhost:${api.port}/mcp`
  const reply = await create({ name: 'loop', allowPlaintext: true, url })
  expect(reply.json.error.code).toBe('bad_url')
})

test('the whole way: discover, review, publish, enable, grant, session', async () => {
  const params = { name: 'docs' }
  const ask = async (name: Parameters<ApiWorld['call']>[1], more: Ask = {}) => {
    const reply = await api.call('admin', name, { params, ...more })
    expect([name, reply.status, reply.json.error]).toEqual([name, 200, undefined])
    return reply.json
  }
  await create({ name: 'docs', ...plain })
  expect(await ask('connection.test')).toMatchObject({ state: 'ok', era: 'modern', tools: 2 })
  expect(await ask('catalog.discover')).toMatchObject({ state: 'discovered', connection: 'docs' })
  const decisions = { include: ['*'], read: ['get_*'], notes: { put_page: 'careful' } }
  const reviewed = await ask('catalog.review', { body: decisions })
  expect(reviewed.tools).toMatchObject([
    { id: 'get_page', state: 'include', access: 'read' },
    { id: 'put_page', state: 'include', access: 'write', note: 'careful' },
  ])
  const published = await ask('catalog.publish', { body: { version: reviewed.version } })
  expect(published).toMatchObject({ state: 'published', number: 1 })
  expect(await ask('connection.enable')).toMatchObject({
    state: 'enabled',
    published: { number: 1 },
    observed: { drift: false },
    health: { state: 'ok' },
  })
  await api.call('admin', 'profile.create', { body: { name: 'reader' } })
  const granted = await api.call('admin', 'profile.grant', {
    params: { name: 'reader' },
    body: { connection: 'docs', tools: '*', mode: 'read' },
  })
  expect(granted.json.items).toMatchObject([{ tool: 'get_page', connection: 'docs', mode: 'read' }])
  const session = await api.call('alice', 'session.create', { body: { profile: 'reader' } })
  expect(session.json).toEqual({
    id: expect.stringMatching(/^ses_/),
    state: 'open',
    endpoint: 'http://127.0.0.1:7401/mcp',
    token: expect.stringMatching(/^[\w-]{43}$/),
    connections: [{ name: 'docs', endpoint: 'http://127.0.0.1:7401/mcp/docs', tools: 1 }],
    unavailable: [],
    denySet: {
      revision: 1,
      digest: expect.stringMatching(/^sha256:/),
      entries: [{ host: 'docs.example.com', port: 443 }],
    },
  })
  const shown = await api.call('alice', 'session.show', { params: { id: session.json.id } })
  expect(shown.json).toMatchObject({
    profile: 'reader',
    owner: 'alice',
    tools: [{ name: 'docs__get_page', connection: 'docs', tool: 'get_page', mode: 'read' }],
  })
  const revoked = await api.call('admin', 'profile.revoke', {
    params: { name: 'reader' },
    body: { connection: 'docs', tools: '*' },
  })
  expect(revoked.json.items).toMatchObject([{ state: 'revoked' }])
})

test('a test of the upstream answers what is wrong with it, and the health remembers', async () => {
  await addConnection(api, api.admin)
  api.worker.listing = new SallyportError('upstream_tls')
  const params = { name: 'docs' }
  const tested = await api.call('admin', 'connection.test', { params })
  expect([tested.status, tested.json.state, tested.json.code]).toEqual([
    200,
    'failed',
    'upstream_tls',
  ])
  const shown = await api.call('admin', 'connection.show', { params })
  expect(shown.json.health).toMatchObject({ state: 'unreachable', code: 'upstream_tls' })
  expect((await api.call('admin', 'catalog.discover', { params })).status).toBe(502)
  api.worker.listing = new SallyportError('worker_down')
  expect((await api.call('admin', 'connection.test', { params })).status).toBe(503)
})

test('a refresh drops what the worker holds, lists again and shows drift', async () => {
  const { id } = await enabledConnection(api, api.admin)
  api.worker.listing = listingOf('get_page', 'other')
  const { json } = await api.call('admin', 'connection.refresh', { params: { name: 'docs' } })
  expect(json.observed.drift).toBe(true)
  expect([api.worker.released, api.worker.listed]).toEqual([[id], [id]])
})

test('disabling, editing and removing let the worker forget', async () => {
  const { id } = await enabledConnection(api, api.admin)
  const params = { name: 'docs' }
  await api.call('admin', 'connection.disable', { params })
  await api.call('admin', 'connection.edit', { params, body: { required: true } })
  await api.call('admin', 'connection.remove', { params })
  expect(api.worker.released).toEqual([id, id, id])
})

test('no URL, token or header value is in any answer, error or log line', async () => {
  const replies: string[] = []
  const note = async (name: Parameters<ApiWorld['call']>[1], ask: Ask) => {
    replies.push((await api.call('admin', name, ask)).text)
  }
  const params = { name: 'docs' }
  await create({ name: 'docs', ...plain }).then(({ text }) => replies.push(text))
  await note('connection.create', { body: { name: 'docs', ...plain } })
  await note('connection.create', { body: { name: 'Bad Name', ...plain } })
  await note('connection.create', { body: { name: 'x', ...plain, allowPlaintext: undefined } })
  const bad = { ...plain, url: 'ftp://SENTINEL-user@SENTINEL-host/SENTINEL-path' }
  await note('connection.create', { body: { name: 'x', ...bad } })
  await note('connection.create', { body: { name: 'x', ...plain, url: 7 } })
  await note('connection.edit', { params, body: { ...plain, version: 99 } })
  await note('connection.edit', { params, body: plain })
  for (const name of [
    'connection.list',
    'connection.show',
    'connection.test',
    'catalog.discover',
  ] as const)
    await note(name, { params })
  api.worker.listing = new SallyportError('upstream_http_5xx')
  for (const name of ['connection.test', 'catalog.discover', 'doctor.run'] as const)
    await note(name, { params })
  await note('connection.remove', { params })
  await addProfile(api, 'p')
  expect(replies.filter((text) => text.includes('SENTINEL'))).toEqual([])
  expect(api.log.filter((line) => line.includes('SENTINEL'))).toEqual([])
  expect(replies.some((text) => text.includes('docs.example.com'))).toBe(true)
})
