import { SallyportError } from '@sallyport/protocol'
import { readSealHeader, sealOAuthClient } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

const resource = 'https://mcp.linear.example/mcp'

function sealedClient() {
  const client = { clientId: 'us', clientSecret: 's3cret' }
  const place = { urls: [resource], id: api.deps.ids('oauthClient'), version: 1, scope: 'org' }
  const { id, seal } = sealOAuthClient({ client, ...place, key: api.key, localAllowed: true })
  return { id, seal }
}

const offer = (more: object = {}) =>
  api.call('admin', 'service.create', { body: { name: 'linear', resource, ...more } })
const list = () => api.call('alice', 'service.list')
const add = (who: 'admin' | 'alice', more: object = {}) =>
  api.call(who, 'connection.create', { body: { name: 'tickets', service: 'linear', ...more } })
const failed = (reply: { json: { error: { code: string; field?: string } } }) => [
  reply.json.error.code,
  reply.json.error.field,
]

test('what an administrator offers is offered at the next request, and no longer once it is removed', async () => {
  const { json } = await offer({ scopeWanted: ['read'] })
  expect(json).toMatchObject({ state: 'offered', name: 'linear', resource, method: 'oauth' })
  expect((await list()).json).toEqual({ items: [json], problem: null })
  await api.call('admin', 'service.remove', { params: { name: 'linear' } })
  expect((await list()).json).toEqual({ items: [], problem: null })
  const again = await api.call('admin', 'service.remove', { params: { name: 'linear' } })
  expect(failed(again)).toEqual(['not_found', 'name'])
})

test.each<[string, object, string, string | undefined]>([
  ['its name is taken', {}, 'name_taken', 'name'],
  ['its name is none', { name: 'Linear' }, 'bad_name', 'name'],
  ['its URL is no https', { name: 'b', resource: 'http://mcp.linear.example/' }, 'bad_url', 'url'],
  ['it needs a client', { name: 'b', method: 'client_credentials' }, 'bad_request', 'client'],
])('it is refused when %s', async (_, more, code, field) => {
  await offer()
  expect(failed(await offer(more))).toEqual([code, field])
})

test('its client is sealed to it, and no other connection finds it', async () => {
  const client = sealedClient()
  const other = { ...client, id: api.deps.ids('oauthClient') }
  expect(failed(await offer({ client: other }))).toEqual(['seal_other_row', 'client'])
  expect(failed(await offer({ client, method: 'none' }))).toEqual(['bad_request', 'client'])
  expect((await offer({ client })).json).toMatchObject({ hasClient: true })
  expect(await api.store.oauth.registrations('org' as never, 9)).toEqual([])
})

test('a connection to it needs no URL, is signed in to with its client, and stays when it is removed', async () => {
  const client = sealedClient()
  await offer({ client, scopeWanted: ['read'] })
  const { json } = await add('admin')
  expect(json).toMatchObject({
    ...{ state: 'draft', auth: 'oauth', endpoint: 'https://mcp.linear.example:443' },
    ...{ condition: 'needs_sign_in', plaintext: false },
  })
  const mine = (await add('alice', { scope: 'personal' })).json
  for (const { id } of [json, mine])
    expect(await api.store.oauth.connection(id)).toMatchObject({
      ...{ grantType: 'authorization_code', scopeWanted: ['read'], clientId: client.id },
    })
  const connection = await api.store.connections.get(json.id)
  expect(readSealHeader(connection?.endpointSeal ?? '').sallyport).toMatchObject({ id: json.id })
  await api.call('admin', 'service.remove', { params: { name: 'linear' } })
  expect(await api.store.oauth.client(client.id as never)).toMatchObject({ seal: client.seal })
  const shown = await api.call('admin', 'connection.show', { params: { name: 'tickets' } })
  expect(shown.json).toMatchObject({ auth: 'oauth', condition: 'needs_sign_in' })
})

test('what is no connection to it is refused', async () => {
  await offer()
  const secret = { token: 't0ken' }
  const plain = { allowPlaintext: true, url: 'https://other.example/mcp' }
  expect(failed(await add('admin', { service: 'nobody' }))).toEqual(['not_found', 'service'])
  const withSecret = await add('admin', { allowPlaintext: true, secret })
  expect(failed(withSecret)).toEqual(['bad_request', 'service'])
  expect(failed(await add('admin', plain))).toEqual(['bad_request', 'url'])
  expect((await api.store.connections.list()).length).toBe(0)
  await offer({ name: 'open', method: 'none' })
  const given = await add('admin', { service: 'open', allowPlaintext: true, secret })
  expect(given.json).toMatchObject({ auth: 'bearer', plaintext: true })
})

test('when services cannot be read none is offered, it says so, and everything else goes on', async () => {
  await offer()
  await add('admin')
  const { services } = api.store
  const broken = new SallyportError('row_unreadable', { cause: 'services.method of svc_1' })
  const list_ = services.list.bind(services)
  services.list = async () => {
    throw broken
  }
  expect((await list()).json).toMatchObject({ items: [], problem: { code: 'row_unreadable' } })
  const params = { name: 'tickets' }
  const shown = await api.call('admin', 'connection.show', { params })
  expect(shown.json).toMatchObject({ auth: 'oauth', condition: 'needs_sign_in' })
  expect((await api.call('admin', 'connection.disconnect', { params })).status).toBe(200)
  services.list = list_
  expect((await list()).json).toMatchObject({ items: [{ name: 'linear' }], problem: null })
})

test('without a worker nothing can be sealed, so nothing is offered', async () => {
  await offer()
  api.worker.info_ = { ...api.worker.info_, state: 'down' }
  expect((await list()).json).toMatchObject({ items: [], problem: { code: 'worker_down' } })
})
