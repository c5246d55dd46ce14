/** That what administrators, owners and members change is told, with the change or not at all. */

import { SallyportError } from '@sallyport/protocol'
import { newWebhookSecret } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'
import { type AskedChange, tellingChange } from './tell-changes.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

const texts = async () =>
  (await api.deps.store.journal.pages(0, Number.MAX_SAFE_INTEGER, 1_000)).map(({ text }) => text)

const changes = async () =>
  (await texts())
    .flatMap((text) => JSON.parse(text).events as { kind: string; at: number; notes: object }[])
    .filter(({ kind }) => kind === 'changed')

const told = async () => (await changes()).map(({ notes }) => notes)

async function fresh(act: () => Promise<unknown>) {
  const before = (await told()).length
  await act()
  return (await told()).slice(before)
}

test('who changed what of what, and as far as it can be shown, how', async () => {
  const by = { id: expect.stringMatching(/^usr_/), name: 'admin' }
  const body = { writes: true, note: 'an incident' }
  expect(await fresh(() => api.call('admin', 'pause.set', { body }))).toEqual([
    { what: 'pause.set', by, of: {}, said: body },
  ])
  const setting = { params: { name: 'requestsPerMinutePerSession' }, body: { value: 700 } }
  expect(await fresh(() => api.call('admin', 'setting.set', setting))).toEqual([
    { what: 'setting.set', by, of: setting.params, said: { value: 700 } },
  ])
  const profile = { body: { name: 'nightly' } }
  const [made] = await fresh(() => api.call('admin', 'profile.create', profile))
  expect(made).toMatchObject({ what: 'profile.create', by, said: { name: 'nightly' } })
  const { at } = (await changes()).at(-1) ?? { at: 0 }
  expect(Math.abs(Date.now() - at)).toBeLessThan(60_000)
})

test('what is refused, what is only asked, and what has events of its own is not told', async () => {
  const nothing = await fresh(async () => {
    expect((await api.call('bob', 'pause.set', { body: { note: 'x' } })).status).toBe(403)
    expect((await api.call('admin', 'pause.set', { body: { writes: 3 } })).status).toBe(400)
    const gone = { params: { name: 'nobody' } }
    expect((await api.call('admin', 'user.disable', gone)).status).toBe(404)
    expect((await api.call('admin', 'user.list')).status).toBe(200)
    expect((await api.call('admin', 'audit.executions', { body: { ids: [] } })).status).toBe(200)
  })
  expect(nothing).toEqual([])
})

test('secrets that were sent are not told, but that they were', async () => {
  const secret = newWebhookSecret()
  const url = 'https://chat.example.com/SENTINEL-url-0123456789'
  const token = 'SENTINEL-token-0123456789'
  const plain = { allowPlaintext: true, url }
  const tellings = await fresh(async () => {
    const webhook = { name: 'robot', ...plain, secret }
    expect((await api.call('admin', 'webhook.create', { body: webhook })).status).toBe(200)
    const connection = { name: 'wiki', ...plain, secret: { token } }
    expect((await api.call('admin', 'connection.create', { body: connection })).status).toBe(200)
    const edit = { params: { name: 'wiki' }, body: { ...plain, secret: { token } } }
    expect((await api.call('admin', 'connection.edit', edit)).status).toBe(200)
  })
  expect(tellings).toMatchObject([
    { what: 'webhook.create', said: { name: 'robot' }, gave: ['allowPlaintext', 'url', 'secret'] },
    { what: 'connection.create', said: { name: 'wiki' } },
    { what: 'connection.edit', of: { name: 'wiki' }, gave: ['allowPlaintext', 'url', 'secret'] },
  ])
  const all = (await texts()).join()
  for (const hidden of [secret, token, 'SENTINEL']) expect(all).not.toContain(hidden)
})

test('of a grant its limits are told, of fixed arguments only that there are some', async () => {
  const limits = { rate: { count: 3, seconds: 60 }, fixed: { key: 'SENTINEL-fixed' } }
  const body = { connection: 'wiki', tools: 'get_*', mode: 'read', limits }
  const asked: AskedChange = { name: 'profile.grant', user, params: { name: 'dev' }, body }
  await tellingChange(api.deps, asked, async () => {})
  await tellingChange(api.deps, { ...asked, body: { ...body, limits: {} } }, async () => {})
  const { limits: _, ...rest } = body
  const change = { what: 'profile.grant', by: user, of: { name: 'dev' } }
  expect(await told()).toEqual([
    { ...change, said: { ...rest, limits: { rate: limits.rate } }, gave: ['limits.fixed'] },
    { ...change, said: rest },
  ])
})

const user = { id: 'usr_1' as never, name: 'admin' }
const pause: AskedChange = { name: 'pause.set', user, params: {}, body: { note: 'x' } }
const insert = (deps: ApiWorld['deps']) =>
  deps.store.transact(async (tx) => tx.settings.set({ name: 'x', value: 1, by: 'usr_1', at: 1 }))

test('a change and its telling are in one transaction: neither is there without the other', async () => {
  const { store } = api.deps
  const all = () => store.settings.list()
  const before = (await all()).length
  const failing = {
    ...api.deps,
    journal: {
      transact: ((work, options) =>
        api.deps.journal.transact(async (tx, page) => {
          await work(tx, page)
          throw new SallyportError('store_unavailable')
        }, options)) as ApiWorld['deps']['journal']['transact'],
    },
  }
  await expect(tellingChange(failing, pause, insert)).rejects.toThrow()
  expect([(await all()).length, (await told()).length]).toEqual([before, 0])
  await tellingChange(api.deps, pause, async (deps) => {
    await insert(deps)
    await insert(deps)
  })
  expect([(await all()).length, (await told()).length]).toEqual([before + 1, 1])
})

test('of a change by somebody with transactions of their own it is told when it was done', async () => {
  const rotate: AskedChange = { ...pause, name: 'keys.rotate', body: undefined }
  await expect(
    tellingChange(api.deps, rotate, () => Promise.reject(new SallyportError('vault_key_fixed'))),
  ).rejects.toMatchObject({ code: 'vault_key_fixed' })
  expect(await told()).toEqual([])
  expect(await tellingChange(api.deps, rotate, async () => 'done')).toBe('done')
  expect(await told()).toEqual([{ what: 'keys.rotate', by: user, of: {} }])
})

test('a very long request is told by its digest', async () => {
  const long = {
    ...pause,
    name: 'catalog.review' as const,
    body: { include: Array(2_000).fill('some_tool') },
  }
  await tellingChange(api.deps, long, async () => {})
  expect(await told()).toEqual([
    {
      what: 'catalog.review',
      by: user,
      of: {},
      said: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    },
  ])
})
