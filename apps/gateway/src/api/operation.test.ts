import { disableConnection, disconnect } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'
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

test('the status counts what there is', async () => {
  await addConnection(api, api.admin)
  await addProfile(api, 'p')
  await api.call('alice', 'session.create', { body: { profile: 'p' } })
  const { json } = await api.call('alice', 'status.show')
  expect(json).toMatchObject({
    release: '0.1.0',
    build: 'test',
    instance: 'ins_gateway',
    startedAt: '1970-01-01T00:00:00.000Z',
    worker: { state: 'up', instance: 'ins_worker', release: '0.1.0', pid: 1 },
    paused: null,
    connections: 1,
    sessions: 1,
    dispatching: 0,
    unknown: 0,
  })
})

test('a pause shows who paused and why, until it is resumed', async () => {
  const body = { writes: true, note: 'incident 7' }
  const { json } = await api.call('admin', 'pause.set', { body })
  expect(json.paused).toMatchObject({ writesOnly: true, note: 'incident 7', by: 'admin' })
  expect((await api.call('alice', 'status.show')).json.paused).toEqual(json.paused)
  expect((await api.call('admin', 'pause.clear')).json.paused).toBeNull()
})

test('settings are one table; a change counts at once', async () => {
  const params = { name: 'maxCallsPerSession' }
  const { json } = await api.call('admin', 'setting.list')
  expect(json.items).toContainEqual({
    id: 'maxCallsPerSession',
    state: 'default',
    value: 64,
    default: 64,
    unit: 'calls',
    bounds: '1 to 1024',
    who: 'administrator',
    description: 'How many calls of one session may be in flight at once.',
  })
  const set = await api.call('admin', 'setting.set', { params, body: { value: 2 } })
  expect(set.json).toMatchObject({ state: 'set', value: 2 })
  expect(api.deps.settings.current().maxCallsPerSession).toBe(2)
  const unset = await api.call('admin', 'setting.unset', { params })
  expect(unset.json).toMatchObject({ state: 'default', value: 64 })
  expect(api.deps.settings.current().maxCallsPerSession).toBe(64)
  const bad = await api.call('admin', 'setting.set', { params, body: { value: 0 } })
  expect([bad.status, bad.json.error.field]).toEqual([400, 'value'])
  const none = await api.call('admin', 'setting.set', { params: { name: 'x' }, body: { value: 1 } })
  expect(none.status).toBe(404)
})

test('the vault key is shown to whoever may seal, while the worker is there', async () => {
  const { json } = await api.call('alice', 'vault.show')
  expect(json).toEqual({ kid: api.key.kid, jwk: api.key.jwk, localUpstreams: true })
  api.worker.info_ = { ...api.worker.info_, state: 'down' }
  expect((await api.call('alice', 'vault.show')).json.error.code).toBe('worker_down')
})

interface Check {
  readonly id: string
  readonly state: string
  readonly who: string | null
  readonly next: string | null
}
async function checks(): Promise<Record<string, Check>> {
  const { json } = await api.call('admin', 'doctor.run')
  return Object.fromEntries(json.items.map((check: Check) => [check.id, check]))
}

test('the doctor finds nothing where all is well', async () => {
  await enabledConnection(api, api.admin)
  const found = await checks()
  expect(Object.keys(found)).toEqual([
    'store',
    'journal',
    'data-folder',
    'retention',
    'worker',
    'worker-isolation',
    'certificate',
    'vault-keys',
    'core-dumps',
    'connection:docs',
  ])
  // The scripted worker does not say what is around it.
  const others = Object.entries(found).filter(([id]) => id !== 'worker-isolation')
  expect(others.map(([, { state, next }]) => [state, next])).toEqual(
    Array.from({ length: 9 }, () => ['ok', null]),
  )
})

test('the doctor says what is wrong with the machine, who can mend it and how', async () => {
  const { info_ } = api.worker
  const day = 86_400_000
  api.worker.info_ = { ...info_, release: '0.0.9', certificateExpiresAt: Date.now() + 3 * day }
  api.deps.checkDataFolder = () => Promise.reject(new SallyportError('data_not_writable'))
  api.deps.checkpoints.write = () => Promise.reject(new SallyportError('journal_damaged'))
  const found = await checks()
  for (const [id, state] of [
    ['worker', 'problem'],
    ['certificate', 'warning'],
    ['data-folder', 'problem'],
    ['journal', 'problem'],
  ] as const) {
    expect(found[id]).toMatchObject({ state, who: 'operator', next: expect.any(String) })
  }
  api.worker.info_ = { ...info_, state: 'down', certificateExpiresAt: Date.now() - 1 }
  expect(await checks()).toMatchObject({
    worker: { state: 'problem' },
    certificate: { state: 'problem' },
    store: { state: 'ok' },
  })
  api.worker.info_ = { ...info_, certificateExpiresAt: Date.now() + 8 * day }
  expect((await checks())['certificate']?.state).toBe('ok')
})

test('the doctor tells connections that are unreachable, unpublished, disabled or changed apart', async () => {
  await addConnection(api, api.admin, { name: 'draft' })
  const off = await enabledConnection(api, api.admin, { name: 'off' })
  await disableConnection(api.deps, api.admin, off.id)
  await enabledConnection(api, api.admin, { name: 'fine' })
  const next = (found: Record<string, Check>) =>
    ['draft', 'off', 'fine'].map((name) => found[`connection:${name}`]?.next)
  expect(next(await checks())).toEqual([
    'sallyport catalog discover draft, then review and publish',
    'sallyport connection enable off',
    null,
  ])
  api.worker.listing = listingOf('get_page')
  expect((await checks())['connection:fine']).toMatchObject({
    state: 'warning',
    who: 'administrator',
    next: 'sallyport catalog diff fine',
  })
  api.worker.listing = new SallyportError('upstream_dns')
  expect((await checks())['connection:fine']).toMatchObject({
    state: 'problem',
    who: 'owner',
    next: 'sallyport connection test fine',
  })
})

test('the doctor says who has to sign in, without asking the server', async () => {
  const connection = await enabledConnection(api, api.admin, { token: 't0ken' })
  await disconnect(api.deps, api.admin, connection.id)
  const listed = api.worker.listed.length
  expect((await checks())['connection:docs']).toMatchObject({
    state: 'problem',
    text: 'Its credential was revoked.',
    next: 'sallyport connection edit docs',
  })
  expect(api.worker.listed).toHaveLength(listed)
})
