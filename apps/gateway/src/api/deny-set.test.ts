import { denySetDigest } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'
import { addConnection, addProfile, listingOf, publish } from '../../../../tests/authority/world.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
  await addProfile(api, 'p')
})
afterEach(() => api.close())

const docs = { host: 'docs.example.com', port: 443 }
const add = (name = 'docs') =>
  addConnection(api, api.admin, { name, url: `https://${name}.example.com/mcp` })
const edit = (body: object) => api.call('admin', 'denySet.edit', { body })
const show = async () => (await api.call('alice', 'denySet.show')).json
const word = ({ revision, digest }: { revision: number; digest: string }) => ({ revision, digest })
const create = async (body: object = {}) =>
  (await api.call('alice', 'session.create', { body: { profile: 'p', ...body } })).json
const of = (session: { id: string }) => ({ params: { id: session.id } })

test('what the operator adds comes into force with the places of connections', async () => {
  await add()
  const { json } = await edit({ add: ['*.Corp.Example', '10.0.0.0/8'] })
  const operator = [
    { host: '*.corp.example', port: null },
    { host: '10.0.0.0/8', port: null },
  ]
  expect(json).toEqual({
    ...{ revision: 1, inForce: 1, entries: [...operator, docs], pending: [], operator },
    digest: denySetDigest(1, json.entries),
  })
  expect(await show()).toEqual(json)
  expect((await edit({ remove: ['10.0.0.0/8'] })).json).toMatchObject({ revision: 2, inForce: 2 })
  expect((await edit({ add: ['no host'] })).json.error).toMatchObject({ code: 'bad_request' })
})

test('a platform says what it enforces, hears of changes, and confirms them', async () => {
  await edit({ add: ['a.example'] })
  const set = await show()
  const refused = await create({ denySet: { ...word(set), revision: 0 } })
  expect(refused.error).toMatchObject({ code: 'deny_set_mismatch' })
  const session = await create({ denySet: word(set) })
  const shown = async () => (await api.call('alice', 'session.show', of(session))).json.denySet
  expect(await shown()).toMatchObject({ revision: 1, confirmed: 1, directAccess: 'denied' })
  await add()
  const { id } = (await api.store.connections.list())[0] ?? expect.fail()
  await publish(api, api.admin, { id }, listingOf('get_page'))
  const enabling = api.call('admin', 'connection.enable', { params: { name: 'docs' } })
  // It waits for the word of the platform.
  await expect.poll(async () => (await show()).revision).toBe(2)
  const next = (await api.call('alice', 'session.denySet', of(session))).json
  expect(next.entries).toEqual([{ host: 'a.example', port: null }, docs])
  const stranger = await api.call('bob', 'session.confirmDenySet', {
    ...of(session),
    body: word(next),
  })
  expect(stranger.json.error).toMatchObject({ code: 'not_found' })
  expect(await show()).toMatchObject({ revision: 2, inForce: 1, pending: [docs] })
  const said = await api.call('alice', 'session.confirmDenySet', {
    ...of(session),
    body: word(next),
  })
  expect(said.json).toMatchObject({ revision: 2, confirmed: 2 })
  expect((await enabling).json).toMatchObject({ state: 'enabled' })
  expect(await shown()).toMatchObject({ revision: 2, confirmed: 2, directAccess: 'denied' })
})

test('without a word direct access is not denied, and the session says so', async () => {
  await edit({ add: ['a.example'] })
  const session = await create()
  const shown = (await api.call('alice', 'session.show', of(session))).json.denySet
  expect(shown).toEqual({
    ...{ revision: 1, confirmed: null, confirmedAt: null, directAccess: 'not_denied' },
  })
  const hidden = await api.call('bob', 'session.denySet', of(session))
  expect(hidden.json.error).toMatchObject({ code: 'not_found' })
})
