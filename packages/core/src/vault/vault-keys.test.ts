import { generateKeyPairSync } from 'node:crypto'
import { type CredentialId, SallyportError } from '@sallyport/protocol'
import { openSeal, reseal, sealWebhook, thumbprint, type VaultKey } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import {
  addConnection,
  code,
  destinations,
  newWorld,
  sealedAgain,
  type World,
} from '../../../../tests/authority/world.ts'
import { disableConnection } from '../connection/disable-connection.ts'
import { editConnection } from '../connection/edit-connection.ts'
import { recordHealth } from '../connection/record-health.ts'
import { createWebhook } from '../webhook/create-webhook.ts'
import { noteLostSeals } from './note-lost-seals.ts'
import { registerKeys } from './register-keys.ts'
import { retireKey } from './retire-key.ts'
import type { StoredSeal } from './seal-store.ts'
import { countSeals, kidOf, pagesOfSeals } from './stored-seals.ts'
import { sweepSeals } from './sweep-seals.ts'

function newKey(): VaultKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const { x } = publicKey.export({ format: 'jwk' }) as { x: string }
  const jwk = { kty: 'OKP', crv: 'X25519', x } as const
  return { kid: thumbprint(jwk), jwk, privateKey }
}

const held = (...keys: VaultKey[]) => ({
  keys: keys.map(({ kid }) => ({ kid, madeAt: null })),
  retired: [] as string[],
})
const states = async ({ store }: World) =>
  (await store.vaultKeys.list()).map(({ kid, state }) => [kid, state])
const secrets = { url: 'https://docs.example.com/mcp', token: 't0ken' }

/** A worker that opens with the keys given. */
const workerOf =
  (...keys: VaultKey[]) =>
  async ({ seal, place }: StoredSeal, toKid: string): Promise<string> => {
    const to = keys.find(({ kid }) => kid === toKid)
    if (!to) throw new SallyportError('seal_key_unknown')
    return reseal(seal, place, to, keys)
  }
const pause = async () => {}

/** Everything that a seal can be in: a draft, a disabled connection, a credential, a webhook. */
async function sealedWorld(): Promise<World> {
  const w = await newWorld()
  await registerKeys(w.store, held(w.key))
  await addConnection(w, w.admin, { name: 'draft', ...secrets })
  const other = await addConnection(w, w.admin, { name: 'disabled', ...secrets })
  await disableConnection(w.deps, w.admin, other.id)
  await addWebhook(w)
  return w
}

function addWebhook(w: World, key = w.key) {
  const id = w.deps.ids('webhook')
  const sealed = sealWebhook({
    url: 'https://hooks.example.com/x',
    secret: Buffer.alloc(32).toString('base64'),
    ...{ webhookId: id, version: 1, scope: 'org', key, localAllowed: false },
  })
  const webhook = { id, name: `w-${id.slice(-6)}`, events: [], ...sealed }
  return createWebhook(w.deps, w.admin, webhook, destinations)
}

async function allSeals({ store }: World): Promise<StoredSeal[]> {
  const seals: StoredSeal[] = []
  for await (const page of pagesOfSeals(store)) seals.push(...page)
  return seals
}

test('what a worker holds becomes known, in the order it was made, once', async () => {
  const w = await newWorld()
  const [one, two, three] = [newKey(), newKey(), newKey()]
  expect(await registerKeys(w.store, held(two, one))).toMatchObject([
    { kid: two.kid, position: 2, state: 'open' },
    { kid: one.kid, position: 1, state: 'open' },
  ])
  await registerKeys(w.store, held(two, one))
  await registerKeys(w.store, held(one))
  await registerKeys(w.store, held(three, two, one))
  expect(await states(w)).toEqual([
    [three.kid, 'open'],
    [two.kid, 'open'],
    [one.kid, 'open'],
  ])
})

test('two gateways that add keys at once add both', async () => {
  const w = await newWorld()
  const keys = [newKey(), newKey(), newKey(), newKey()]
  await Promise.all(keys.map((key) => registerKeys(w.store, held(key))))
  expect((await states(w)).map(([kid]) => kid).toSorted()).toEqual(
    keys.map(({ kid }) => kid).toSorted(),
  )
})

test('a key whose source says it is gone is retired, whatever is sealed to it', async () => {
  const w = await sealedWorld()
  const next = newKey()
  await registerKeys(w.store, { ...held(next), retired: [w.key.kid, 'nobody'] })
  expect(await states(w)).toEqual([
    [next.kid, 'open'],
    [w.key.kid, 'retired'],
  ])
})

test('a worker that holds none but a retired key has it opened again, as the newest', async () => {
  const w = await newWorld()
  const [one, two] = [newKey(), newKey()]
  await registerKeys(w.store, held(two, one))
  expect(await retireKey(w.store, one.kid)).toBe(true)
  await registerKeys(w.store, held(two, one))
  expect((await states(w))[1]).toEqual([one.kid, 'retired'])
  await registerKeys(w.store, held(one))
  expect(await states(w)).toEqual([
    [one.kid, 'open'],
    [two.kid, 'open'],
  ])
})

test('one pass seals everything again, drafts and what is disabled too, and the rows stay what they are', async () => {
  const w = await sealedWorld()
  const next = newKey()
  await registerKeys(w.store, held(next, w.key))
  const before = await allSeals(w)
  const connections = await w.store.connections.list()
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  const deps = { store: w.store, reseal: workerOf(next, w.key), pause }
  expect(before).toHaveLength(5)
  expect(await sweepSeals(deps, sweep)).toEqual([])
  expect(await countSeals(w.store)).toEqual(new Map([[next.kid, 5]]))
  const after = await allSeals(w)
  expect(after.map(({ place }) => place)).toEqual(before.map(({ place }) => place))
  for (const [at, { place, seal }] of after.entries())
    expect(openSeal(seal, place, [next])).toEqual(openSeal(before[at]?.seal ?? '', place, [w.key]))
  for (const one of connections) {
    const now = await w.store.connections.get(one.id)
    expect(now).toEqual({ ...one, endpointSeal: now?.endpointSeal, version: one.version + 1 })
    const credential = await w.store.credentials.get(one.credentialId as CredentialId)
    expect(credential).toMatchObject({ version: 1, state: 'active' })
  }
})

test('what does not open is left and told, and nothing else waits for it', async () => {
  const w = await sealedWorld()
  const next = newKey()
  const id = (await w.store.connections.list())[0]?.id ?? ''
  const worker = workerOf(next, w.key)
  const reseal = (stored: StoredSeal, toKid: string) =>
    stored.place.id === id
      ? Promise.reject(new SallyportError('seal_unreadable'))
      : worker(stored, toKid)
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  expect(await sweepSeals({ store: w.store, reseal, pause }, sweep)).toEqual([
    { kind: 'endpoint', id, code: 'seal_unreadable' },
  ])
  expect(await countSeals(w.store)).toEqual(
    new Map([
      [w.key.kid, 1],
      [next.kid, 4],
    ]),
  )
})

test.each([
  ['to another key', (w: World) => workerOf(w.key), 'seal_unreadable'],
  [
    'for another place',
    (_w: World, next: VaultKey) => async (stored: StoredSeal) =>
      reseal(stored.seal, stored.place, next, [_w.key]).replace(/^[^.]+/, (header) => {
        const members = JSON.parse(Buffer.from(header, 'base64url').toString())
        const moved = { ...members, sallyport: { ...members.sallyport, id: 'crd_x' } }
        return Buffer.from(JSON.stringify(moved)).toString('base64url')
      }),
    'seal_other_row',
  ],
] as const)('an answer %s is not stored', async (_what, worker, code) => {
  const w = await sealedWorld()
  const next = newKey()
  const answers = worker(w, next)
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  const reseal = (stored: StoredSeal) => answers(stored, w.key.kid)
  const stuck = await sweepSeals({ store: w.store, reseal, pause }, sweep)
  expect(stuck).toHaveLength(5)
  expect(stuck[0]).toMatchObject({ code })
  expect(await countSeals(w.store)).toEqual(new Map([[w.key.kid, 5]]))
})

test('a pass ends when the worker goes away, and the next one goes on with what is left', async () => {
  const w = await newWorld()
  const next = newKey()
  for (let n = 0; n < 20; n++) await addConnection(w, w.admin, { name: `c${n}`, ...secrets })
  await registerKeys(w.store, held(next, w.key))
  let left = 24
  const worker = workerOf(next, w.key)
  const reseal = (stored: StoredSeal, toKid: string) =>
    left-- > 0 ? worker(stored, toKid) : Promise.reject(new SallyportError('worker_down'))
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  await expect(sweepSeals({ store: w.store, reseal, pause }, sweep)).rejects.toMatchObject(
    code('worker_down'),
  )
  expect((await countSeals(w.store)).get(next.kid)).toBe(20)
  expect(await retireKey(w.store, w.key.kid)).toBe(false)
  const asked: string[] = []
  const counting = (stored: StoredSeal, toKid: string) => {
    asked.push(stored.place.id)
    return worker(stored, toKid)
  }
  expect(await sweepSeals({ store: w.store, reseal: counting, pause }, sweep)).toEqual([])
  expect(asked).toHaveLength(20)
  expect(await retireKey(w.store, w.key.kid)).toBe(true)
})

test('a secret that is entered while the sweep seals it again is not overwritten', async () => {
  const w = await sealedWorld()
  const next = newKey()
  await registerKeys(w.store, held(next, w.key))
  const [connection] = await w.store.connections.list()
  if (!connection) throw new Error('no connection')
  const credentialId = connection.credentialId as CredentialId
  const worker = workerOf(next, w.key)
  let entered = false
  const reseal = async (stored: StoredSeal, toKid: string) => {
    const answer = await worker(stored, toKid)
    if (stored.place.id === credentialId && !entered) {
      entered = true
      const change = await sealedAgain({ ...w, key: next }, connection.id, { token: 'new' })
      await editConnection(
        w.deps,
        w.admin,
        connection.id,
        { credential: change.credential },
        destinations,
      )
    }
    return answer
  }
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  await sweepSeals({ store: w.store, reseal, pause }, sweep)
  const credential = await w.store.credentials.get(credentialId)
  expect(entered).toBe(true)
  expect(credential?.version).toBe(2)
  const place = { kind: 'credential', id: credentialId, scope: 'org', version: 2 } as const
  expect(openSeal(credential?.seal ?? '', place, [next])).toMatchObject({ token: 'new' })
})

test('a key is retired once nothing is sealed to it, and nothing is sealed to it afterwards', async () => {
  const w = await sealedWorld()
  const next = newKey()
  await registerKeys(w.store, held(next, w.key))
  expect(await retireKey(w.store, w.key.kid)).toBe(false)
  const sweep = { toKid: next.kid, oldKids: new Set([w.key.kid]) }
  await sweepSeals({ store: w.store, reseal: workerOf(next, w.key), pause }, sweep)
  expect(await retireKey(w.store, w.key.kid)).toBe(true)
  expect(await retireKey(w.store, w.key.kid)).toBe(false)
  expect(await retireKey(w.store, 'nobody')).toBe(false)
  const retired = code('seal_key_retired')
  await expect(addConnection(w, w.admin, { name: 'late' })).rejects.toMatchObject(retired)
  await expect(addConnection(w, w.admin, { name: 'late', ...secrets })).rejects.toMatchObject(
    retired,
  )
  await expect(addWebhook(w)).rejects.toMatchObject(retired)
  const [connection] = await w.store.connections.list()
  const id = connection?.id as NonNullable<typeof connection>['id']
  const { credential, endpoint } = await sealedAgain(w, id, { token: 'x' })
  const change = (given: object) => editConnection(w.deps, w.admin, id, given, destinations)
  await expect(change({ credential })).rejects.toMatchObject(retired)
  await expect(change({ endpoint, credential: null })).rejects.toMatchObject(retired)
  const renewed = { ...w, key: next }
  await addConnection(renewed, w.admin, { name: 'late', ...secrets })
  await addWebhook(renewed)
  expect((await countSeals(w.store)).get(w.key.kid)).toBeUndefined()
})

test('connections whose secrets are lost say so', async () => {
  const w = await sealedWorld()
  const next = newKey()
  const fine = await addConnection({ ...w, key: next }, w.admin, { name: 'fine', ...secrets })
  for (const { id } of await w.store.connections.list())
    await recordHealth(w.store, { id, revision: 1, code: null })
  await registerKeys(w.store, { ...held(next), retired: [w.key.kid] })
  await noteLostSeals(w.store, new Set([w.key.kid]))
  const healths = await w.store.connections.list()
  expect(healths.map(({ id, health }) => [id === fine.id, health.state, health.code])).toEqual(
    healths.map(({ id }) =>
      id === fine.id ? [true, 'ok', null] : [false, 'seal', 'seal_key_retired'],
    ),
  )
})

test('what is no seal has no key', () => {
  expect(kidOf('')).toBeUndefined()
  expect(kidOf('e30..a.a.aaaaaaaaaaaaaaaaaaaaaa')).toBeUndefined()
})
