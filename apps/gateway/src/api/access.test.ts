/** Who may do what: role × route × whose it is. */
import type { RouteName } from '@sallyport/protocol'
import { routes } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, type Ask, startApi } from '../../../../tests/authority/api-world.ts'
import {
  addConnection,
  addProfile,
  enabledConnection,
  grant,
} from '../../../../tests/authority/world.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

type Who = 'admin' | 'alice' | 'bob'
const people = ['admin', 'alice', 'bob'] as const

/** Statuses for admin, alice, bob. */
async function statuses(name: RouteName, ask: Ask | ((who: Who) => Ask)): Promise<number[]> {
  const all: number[] = []
  for (const who of people)
    all.push((await api.call(who, name, typeof ask === 'function' ? ask(who) : ask)).status)
  return all
}

const adminOnly = Object.entries(routes)
  .filter(([, route]) => route.role === 'admin')
  .map(([name]) => name as RouteName)

test('these routes are for administrators alone', () => {
  expect(adminOnly.sort()).toEqual([
    'audit.executions',
    'audit.export',
    'denySet.edit',
    'doctor.run',
    'keys.rotate',
    'pause.clear',
    'pause.set',
    'profile.create',
    'service.create',
    'service.remove',
    'setting.list',
    'setting.set',
    'setting.unset',
    'user.create',
    'user.disable',
    'user.list',
    'webhook.create',
    'webhook.enable',
    'webhook.list',
    'webhook.remove',
    'webhook.test',
  ])
})

test.each(adminOnly)('%s: 403 for a member whatever is sent', async (name) => {
  const reply = await api.call('alice', name, { params: { name: 'maxCallsPerSession' } })
  expect([reply.status, reply.json.error.code]).toEqual([403, 'not_allowed'])
})

const orgVerbs: [RouteName, Ask][] = [
  ['connection.edit', { body: { required: true } }],
  ['connection.test', {}],
  ['connection.refresh', {}],
  ['catalog.diff', {}],
  ['catalog.discover', {}],
  ['catalog.review', { body: { include: ['get_page'] } }],
  ['catalog.publish', { body: {} }],
  ['connection.enable', {}],
  ['connection.disable', {}],
  ['catalog.withdraw', { body: { revision: 1 } }],
  ['connection.remove', {}],
]

test.each(['org', 'project:web'])(
  'a connection of %s: members see it, administrators change it',
  async (scope) => {
    await enabledConnection(api, api.admin, { scope })
    const params = { name: 'docs' }
    expect(await statuses('connection.show', { params })).toEqual([200, 200, 200])
    expect(await statuses('catalog.show', { params })).toEqual([200, 200, 200])
    for (const [name, ask] of orgVerbs)
      expect((await api.call('alice', name, { params, ...ask })).status, name).toBe(403)
    for (const [name, ask] of orgVerbs)
      expect([name, (await api.call('admin', name, { params, ...ask })).status]).toEqual([
        name,
        200,
      ])
  },
)

test('a personal connection: its owner changes it, an administrator knows of it, others find nothing', async () => {
  const { id } = await enabledConnection(api, api.alice, { scope: 'personal', name: 'mine' })
  for (const name of ['mine', id]) {
    const params = { name }
    expect(await statuses('connection.show', { params })).toEqual([200, 200, 404])
    expect(await statuses('catalog.show', { params })).toEqual([403, 200, 404])
    for (const [verb, ask] of orgVerbs) {
      expect((await api.call('admin', verb, { params, ...ask })).status, verb).toBe(403)
      expect((await api.call('bob', verb, { params, ...ask })).status, verb).toBe(404)
    }
  }
  for (const [verb, ask] of orgVerbs)
    expect([
      verb,
      (await api.call('alice', verb, { params: { name: id }, ...ask })).status,
    ]).toEqual([verb, 200])
})

test('of a personal connection an administrator sees neither place nor headers', async () => {
  const secrets = { token: 't', headers: [{ name: 'X-Team', value: 'v' }] }
  await addConnection(api, api.alice, { scope: 'personal', name: 'mine', ...secrets })
  await addConnection(api, api.admin, { name: 'ours', ...secrets })
  const seen = async (who: Who) =>
    (await api.call(who, 'connection.list')).json.items.map(
      ({ name, endpoint, headerNames }: Record<string, unknown>) => [name, endpoint, headerNames],
    )
  const place = 'https://docs.example.com:443'
  expect(await seen('admin')).toEqual([
    ['ours', place, ['X-Team']],
    ['mine', '', []],
  ])
  expect(await seen('alice')).toEqual([
    ['ours', place, ['X-Team']],
    ['mine', place, ['X-Team']],
  ])
  expect(await seen('bob')).toEqual([['ours', place, ['X-Team']]])
})

test('sessions and executions of others are not found; an administrator sees all', async () => {
  await addProfile(api, 'p')
  const { json } = await api.call('alice', 'session.create', { body: { profile: 'p' } })
  const params = { id: json.id }
  expect(await statuses('session.show', { params })).toEqual([200, 200, 404])
  expect(await statuses('session.end', { params })).toEqual([200, 200, 404])
  const listed = async (who: Who) =>
    (await api.call(who, 'session.list')).json.items.map(({ id }: { id: string }) => id)
  expect(await listed('admin')).toEqual([json.id])
  expect(await listed('alice')).toEqual([json.id])
  expect(await listed('bob')).toEqual([])
  expect(await statuses('execution.show', { params: { id: api.deps.ids('execution') } })).toEqual([
    404, 404, 404,
  ])
  expect(await statuses('execution.list', { query: `?session=${json.id}` })).toEqual([
    200, 200, 200,
  ])
})

test('tokens of others are not found; an administrator makes and revokes any', async () => {
  const body = { user: 'bob', label: 'ci' }
  expect(await statuses('token.create', { body })).toEqual([200, 404, 200])
  const { json } = await api.call('bob', 'token.create', { body })
  expect(json.secret).toMatch(/^[\w-]{43}$/)
  expect(await statuses('token.revoke', { params: { id: json.token.id } })).toEqual([200, 404, 200])
  const labels = async (who: Who) =>
    new Set(
      (await api.call(who, 'token.list')).json.items.map(({ user }: { user: string }) => user),
    )
  expect(await labels('admin')).toEqual(new Set(['admin', 'alice', 'bob']))
  expect(await labels('alice')).toEqual(new Set(['alice']))
})

test('grants of a personal connection show their limits to the owner alone', async () => {
  const mine = await enabledConnection(api, api.alice, { scope: 'personal', name: 'mine' })
  await addProfile(api, 'p', { personal: 'read' })
  await grant(api, api.alice, 'p', mine, 'get_page', 'read', { rate: { count: 1, seconds: 2 } })
  const limits = async (who: Who) =>
    (await api.call(who, 'profile.show', { params: { name: 'p' } })).json.grants.map(
      (one: { limits: unknown }) => one.limits,
    )
  expect(await limits('alice')).toEqual([{ rate: { count: 1, seconds: 2 } }])
  expect(await limits('admin')).toEqual([{}])
  expect(await limits('bob')).toEqual([])
})

test('a disabled person is nobody', async () => {
  expect((await api.call('alice', 'whoami.show')).status).toBe(200)
  await api.call('admin', 'user.disable', { params: { name: 'alice' } })
  expect((await api.call('alice', 'whoami.show')).status).toBe(401)
})
