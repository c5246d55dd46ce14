/** The keys of the vault as the API and the doctor show them. */
import { sealConnection } from '@sallyport/protocol/node'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApiWorld, startApi } from '../../../../tests/authority/api-world.ts'
import { addConnection } from '../../../../tests/authority/world.ts'
import type { KeyView } from '../vault/key-keeper.ts'

let api: ApiWorld
beforeEach(async () => {
  api = await startApi()
})
afterEach(() => api.close())

const show = async () => (await api.call('alice', 'keys.show')).json
const check = async (id: string) =>
  (await api.call('admin', 'doctor.run')).json.items.find((one: { id: string }) => one.id === id)

type Known = KeyView['known'][number]
const known = (kid: string, position: number, given: Partial<Known> = {}): Known => ({
  kid,
  position,
  state: 'open',
  madeAt: null,
  retiredAt: null,
  ...given,
})

test('keys are told from the newest, with how much is sealed to each', async () => {
  const { kid } = api.key
  await addConnection(api, api.admin, { token: 't' })
  const old = known('old', 1, { state: 'retired', madeAt: 0, retiredAt: 1_000 })
  api.worker.known = [known(kid, 2), old]
  expect(await show()).toEqual({
    source: 'file',
    items: [
      {
        id: kid,
        state: 'sealing',
        fingerprint: `SHA256:${kid}`,
        madeAt: null,
        retiredAt: null,
        seals: 2,
      },
      {
        id: 'old',
        state: 'retired',
        fingerprint: 'SHA256:old',
        madeAt: '1970-01-01T00:00:00.000Z',
        retiredAt: '1970-01-01T00:00:01.000Z',
        seals: 0,
      },
    ],
    rotation: { state: 'done', left: 0, stuck: [] },
  })
  expect(await check('vault-keys')).toMatchObject({ state: 'ok', next: null })
})

test('what is left to seal again is counted, and what is stuck is named', async () => {
  const { kid } = api.key
  const connection = await addConnection(api, api.admin, { name: 'wiki', token: 't' })
  const credentialId = connection.credentialId as string
  const next = { kid: 'next', jwk: api.key.jwk, madeAt: null }
  api.worker.held = [next, { kid, jwk: api.key.jwk, madeAt: null }]
  api.worker.known = [known('next', 2), known(kid, 1)]
  expect(await show()).toMatchObject({ rotation: { state: 'running', left: 2, stuck: [] } })
  expect(await check('vault-keys')).toMatchObject({
    state: 'ok',
    text: 'A new vault key seals; 2 secrets are still to be sealed to it.',
  })
  api.worker.stuck = [
    { kind: 'endpoint', id: connection.id, code: 'seal_truncated' },
    { kind: 'credential', id: credentialId, code: 'seal_unreadable' },
  ]
  expect((await show()).rotation).toEqual({
    state: 'stuck',
    left: 2,
    stuck: [
      { kind: 'endpoint', id: connection.id, name: 'wiki', code: 'seal_truncated' },
      { kind: 'credential', id: credentialId, name: 'wiki', code: 'seal_unreadable' },
    ],
  })
  expect(await check('vault-keys')).toMatchObject({ state: 'warning', who: 'administrator' })
})

test('secrets whose key is gone, or not here, are a problem of who can mend it', async () => {
  const { kid } = api.key
  await addConnection(api, api.admin, { token: 't' })
  const next = { kid: 'next', jwk: api.key.jwk, madeAt: null }
  api.worker.held = [next]
  api.worker.known = [known('next', 2), known(kid, 1, { state: 'retired', retiredAt: 1 })]
  expect(await check('vault-keys')).toMatchObject({
    state: 'problem',
    who: 'owner',
    text: '2 secrets are sealed to a vault key that was retired; nobody can open that any more.',
  })
  api.worker.known = [known('next', 2)]
  expect((await show()).items).toMatchObject([
    { id: 'next', state: 'sealing', seals: 0 },
    { id: kid, state: 'missing', seals: 2 },
  ])
  expect(await check('vault-keys')).toMatchObject({ state: 'problem', who: 'operator' })
})

test('secrets are sealed to the newest key that this worker holds', async () => {
  const next = { kid: 'next', jwk: api.key.jwk, madeAt: null }
  api.worker.held = [next]
  const { json } = await api.call('alice', 'vault.show')
  expect(json.kid).toBe('next')
})

test('only an administrator rotates, and is told when nothing can be written', async () => {
  expect((await api.call('alice', 'keys.rotate')).json.error.code).toBe('not_allowed')
  const { status, json } = await api.call('admin', 'keys.rotate')
  expect(status).toBe(409)
  expect(json.error).toMatchObject({ code: 'vault_key_fixed', who: 'operator' })
})

test('without a worker nothing is said of keys', async () => {
  api.worker.info_ = { ...api.worker.info_, state: 'down', coreDumps: null }
  expect((await api.call('alice', 'keys.show')).json.error.code).toBe('worker_down')
  expect(await check('vault-keys')).toBeUndefined()
})

test('memory that may get into a core dump is a warning', async () => {
  expect(await check('core-dumps')).toMatchObject({ state: 'ok', next: null })
  api.worker.dumpsOfGateway = 'unknown'
  expect(await check('core-dumps')).toMatchObject({
    state: 'warning',
    text: 'This system does not tell whether memory of the gateway may get into a core dump.',
  })
  api.worker.dumpsOfGateway = 'on'
  api.worker.info_ = { ...api.worker.info_, coreDumps: 'on' }
  expect(await check('core-dumps')).toMatchObject({
    state: 'warning',
    text: 'Memory of the gateway and worker may get into a core dump.',
    who: 'operator',
  })
})

test('a seal to a retired key is refused where it comes in', async () => {
  const { kid } = api.key
  await api.store.transact((tx) =>
    tx.vaultKeys.insert(known(kid, 1, { state: 'retired', retiredAt: 1 })),
  )
  const id = api.deps.ids('connection')
  const sealed = sealConnection({
    url: 'https://docs.example.com/mcp',
    headers: [],
    ...{ connectionId: id, revision: 1, credentialId: api.deps.ids('credential') },
    ...{ credentialVersion: 1, scope: 'org', key: api.key, localAllowed: false },
  })
  const body = { id, name: 'docs', endpoint: sealed.endpoint }
  const { json } = await api.call('admin', 'connection.create', { body })
  expect(json.error).toMatchObject({ code: 'seal_key_retired', who: 'owner' })
})
