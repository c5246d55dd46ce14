/** Two gateways of one Postgres refresh one credential whose refresh token rotates. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Credential,
  Journal,
  type OAuthTarget,
  type OAuthWorker,
  type RefreshAnswer,
  Refresher,
  type RefresherDeps,
  type RefreshLease,
  type RefreshOrder,
  type Store,
} from '@sallyport/core'
import { type CredentialId, type InstanceId, SallyportError } from '@sallyport/protocol'
import { type JournalEvent, type OAuthGranted, seal, type VaultKey } from '@sallyport/protocol/node'
import { openPostgresStore } from '@sallyport/store'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sampleSigner } from '../../packages/protocol/src/journal/sample-journal.ts'
import { addConnection, newWorld, type World } from '../authority/world.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { eventually } from '../system/eventually.ts'

const withinMs = process.env['SALLYPORT_TEST_ALL'] === '1' ? 600_000 : 20_000
const roundsAtMost = 200

/** Takes a refresh token once: whoever brings an older one gets `invalid_grant`. */
class Provider implements OAuthWorker {
  refreshes = 0
  refused = 0
  answer: 'well' | 'away' | 'lost' = 'well'
  /** Happens before it answers. */
  meanwhile: () => Promise<void> = async () => {}
  recover: OAuthWorker['recover'] = () => Promise.reject(new SallyportError('internal'))
  current = 1
  readonly #key: VaultKey

  constructor(key: VaultKey) {
    this.#key = key
  }

  begin = (): Promise<never> => Promise.reject(new SallyportError('internal'))
  finish = (): Promise<never> => Promise.reject(new SallyportError('internal'))
  revoke = (): Promise<never> => Promise.reject(new SallyportError('internal'))
  settled = (): void => {}

  name = (): RefreshOrder => {
    const { ids } = world.deps
    return { intentId: ids('intent'), workerInstance: ids('instance'), issuedAt: Date.now() }
  }

  async refresh({ connection, credential }: OAuthTarget): Promise<RefreshAnswer> {
    if (!credential) throw new SallyportError('internal')
    if (this.answer === 'away') return { kind: 'transient', code: 'oauth_unavailable' }
    await sleep(1)
    await this.meanwhile()
    if (credential.version !== this.current) {
      this.refused++
      return { kind: 'broken', code: 'oauth_invalid_grant' }
    }
    const version = ++this.current
    this.refreshes++
    await sleep(1)
    if (this.answer === 'lost') return { kind: 'transient', code: 'oauth_unavailable' }
    const { id: credentialId, clear } = credential
    const place = {
      kind: 'credential',
      id: credentialId,
      scope: connection.scope,
      version,
    } as const
    const granted: OAuthGranted = {
      kind: 'granted',
      account: 'same',
      ...{ credentialId, credentialVersion: version },
      seal: seal({ token: `t${version}` }, place, this.#key),
      clear: { ...clear, headerNames: [...clear.headerNames] },
      places: [],
    }
    return { kind: 'granted', granted }
  }
}

let postgres: RunningPostgres
let stores: Store[]
let world: World

beforeAll(async () => {
  postgres = await startPostgres()
  const options = { url: postgres.url, schema: 'refresh_races', connections: 5 }
  const first = await openPostgresStore(options)
  stores = [first, await openPostgresStore(options)]
  world = await newWorld(first)
}, 120_000)
afterAll(async () => {
  for (const store of stores) await store.close()
  await postgres.stop()
})

async function connected(name: string): Promise<Credential> {
  const { store, deps, admin, key } = world
  const connection = await addConnection(world, admin, { name, url: 'https://mcp.example.com/mcp' })
  const id = deps.ids('credential')
  const place = { kind: 'credential', id, scope: connection.scope, version: 1 } as const
  return store.transact(async (tx) => {
    const now = await tx.now()
    const oauth = { issuerHost: 'login.example', refreshable: true, expiresAt: now + 60_000 }
    const credential: Credential = {
      ...{ id, connectionId: connection.id, version: 1, state: 'active' },
      seal: seal({ token: 't1' }, place, key),
      clear: { bearer: true, headerNames: [], oauth },
      ...{ createdAt: now, updatedAt: now },
    }
    await tx.credentials.insert(credential)
    await tx.oauth.putConnection({
      ...{ connectionId: connection.id, grantType: 'authorization_code', scopeWanted: [] },
      scopeRequired: [],
      ...{ clientId: null, issuer: 'https://login.example', server: null, places: [] },
    })
    const { version } = connection
    await tx.connections.update({ ...connection, credentialId: id, version: version + 1 }, version)
    return credential
  })
}

function identity(store: Store): Pick<RefresherDeps, 'journal' | 'instance'> {
  const { ids } = world.deps
  const instance = ids('instance')
  const signer = sampleSigner()
  return { instance, journal: new Journal({ store, ids, now: Date.now, instance, signer }) }
}

function gatewaysOf(oauth: OAuthWorker): Promise<Refresher[]> {
  return Promise.all(
    stores.map(async (store) => {
      const known = identity(store)
      const { instance: id } = known
      await store.transact(async (tx) => {
        const startedAt = await tx.now()
        await tx.instances.renew({ id, startedAt, leaseUntil: startedAt + 3_600_000 })
      })
      return new Refresher({
        ...{ store, oauth, ...known, now: Date.now },
        pause: (ms) => sleep(Math.min(ms, 5)),
        report: (error) => {
          throw error
        },
      })
    }),
  )
}
const stored = async (id: CredentialId) => {
  const credential = await world.store.credentials.get(id)
  if (!credential) throw new Error('no credential')
  return credential
}

test('one refresh at the provider for each round, both go on with the winner, none is broken', {
  timeout: withinMs + 60_000,
}, async () => {
  const provider = new Provider(world.key)
  const gateways = await gatewaysOf(provider)
  const { id } = await connected('races')
  const until = performance.now() + withinMs
  let rounds = 0
  while (rounds < roundsAtMost && performance.now() < until) {
    const before = await stored(id)
    // Each gateway by two at once; they begin a little apart, more from round to round.
    const asked = gateways.flatMap((gateway, n) =>
      [0, 1].map(async () => {
        if ((rounds + n) % 2 === 1) await sleep(rounds % 8)
        return gateway.refresh(before)
      }),
    )
    expect(await Promise.all(asked)).toEqual(['renewed', 'renewed', 'renewed', 'renewed'])
    rounds++
    expect(await stored(id)).toMatchObject({ version: before.version + 1, state: 'active' })
    expect(provider).toMatchObject({ refreshes: rounds, refused: 0 })
  }
  expect(rounds).toBeGreaterThan(20)
})

test('a provider that is away breaks nothing, and the lease is free afterwards', async () => {
  const provider = new Provider(world.key)
  const [one, other] = await gatewaysOf(provider)
  const credential = await connected('away')
  provider.answer = 'away'
  expect(await one?.refresh(credential)).toBe('transient')
  expect(await stored(credential.id)).toMatchObject({ version: 1, state: 'active' })
  provider.answer = 'well'
  expect(await other?.refresh(credential)).toBe('renewed')
})

test('a rotation whose answer was lost ends broken, never as an old token thought to be good', async () => {
  const provider = new Provider(world.key)
  const [one, other] = await gatewaysOf(provider)
  const credential = await connected('lost')
  provider.answer = 'lost'
  expect(await one?.refresh(credential)).toBe('transient')
  provider.answer = 'well'
  expect(await other?.refresh(credential)).toBe('unusable')
  expect(await stored(credential.id)).toMatchObject({ version: 1, state: 'broken' })
  expect(await world.store.connections.get(credential.connectionId)).toMatchObject({
    health: { state: 'unauthorized', code: 'oauth_invalid_grant' },
  })
  expect(await one?.refresh(credential)).toBe('unusable')
})

/** As a person who signs in meanwhile does. */
const signIn = ({ id, version }: Credential) =>
  world.store.transact(async (tx) => {
    const before = await tx.credentials.get(id)
    if (!before) throw new Error('no credential')
    const connection = await tx.connections.get(before.connectionId)
    const scope = connection?.scope ?? ''
    const place = { kind: 'credential', id, scope, version: version + 1 } as const
    const next = { ...before, version: version + 1, state: 'active' } as const
    await tx.credentials.update(
      { ...next, seal: seal({ token: 'new' }, place, world.key) },
      version,
    )
  })

test('a grant that is refused after somebody has signed in again breaks nothing', async () => {
  const provider = new Provider(world.key)
  const [one] = await gatewaysOf(provider)
  const credential = await connected('moved')
  // The sign-in ends the old grant at the provider.
  provider.meanwhile = async () => {
    provider.current++
    await signIn(credential)
  }
  expect(await one?.refresh(credential)).toBe('renewed')
  expect(provider.refused).toBe(1)
  expect(await stored(credential.id)).toMatchObject({ version: 2, state: 'active' })
})

test('what is found of a refresh that was left counts for the version it was of, and for no other', async () => {
  const provider = new Provider(world.key)
  const { store } = world
  provider.recover = async () => ({ kind: 'broken', code: 'oauth_invalid_grant' })
  const [one] = await gatewaysOf(provider)
  const [moved, same] = [await connected('left-moved'), await connected('left-same')]
  const leases = [await leave(moved), await leave(same)]
  await signIn(moved)
  await one?.sweep()
  expect(await stored(moved.id)).toMatchObject({ version: 2, state: 'active' })
  // Control: of the one that is still that version it says the truth.
  expect(await stored(same.id)).toMatchObject({ version: 1, state: 'broken' })
  const ids = new Set(leases.map(({ intentId }) => intentId))
  expect((await store.oauth.leases()).filter(({ intentId }) => ids.has(intentId))).toEqual([])
})

/** A gateway that is gone ordered it. */
async function leave(credential: Credential): Promise<RefreshLease> {
  const { deps, store } = world
  const lease = {
    ...{ credentialId: credential.id, credentialVersion: credential.version },
    ...{ holder: deps.ids('instance'), leaseUntil: Date.now() + 60_000 },
    ...{ intentId: deps.ids('intent'), workerInstance: deps.ids('instance'), issuedAt: 1 },
    isUnclear: false,
  }
  await store.transact((tx) => tx.oauth.takeLease(lease))
  return lease
}
const leaseOn = async ({ id }: Credential) =>
  (await world.store.oauth.leases()).find(({ credentialId }) => credentialId === id)
const toldOf = async ({ id }: Credential) => {
  const pages = await world.store.journal.pages(0, Number.MAX_SAFE_INTEGER, 10_000)
  return pages
    .flatMap(({ text }) => JSON.parse(text).events as JournalEvent[])
    .filter(({ notes }) => notes?.['credentialId'] === id)
    .map(({ kind }) => kind)
}

test.each<[rotates: boolean, ends: string, told: string]>([
  [true, 'broken', 'credential_broken'],
  // Control: the stored token is still good.
  [false, 'active', 'credential_renewed'],
])(
  'that nobody knows what became of a refresh survives another crash, and a server that rotated (%s) tells: %s',
  async (rotates, ends, told) => {
    const provider = new Provider(world.key)
    const credential = await connected(`unclear-${ends}`)
    if (rotates) provider.current++
    await leave(credential)
    provider.recover = async () => ({ kind: 'not_known' })
    // The next order is never answered: this gateway dies as well.
    const hangs = new Provider(world.key)
    hangs.recover = provider.recover
    hangs.refresh = () => new Promise<never>(() => {})
    const [dies] = await gatewaysOf(hangs)
    void dies?.sweep()
    const left = await eventually(
      () => leaseOn(credential),
      (lease) => lease?.isUnclear === true,
      5_000,
    )
    expect(await toldOf(credential)).toEqual(['credential_unclear'])
    expect(await stored(credential.id)).toMatchObject({ version: 1, state: 'active' })
    const { holder } = left ?? {}
    await world.store.transact((tx) => tx.instances.end(holder as InstanceId))
    // Its order had not left: that says nothing of the first one.
    provider.recover = async () => ({ kind: 'never_started' })
    const [one] = await gatewaysOf(provider)
    await one?.sweep()
    expect(await stored(credential.id)).toMatchObject({ state: ends })
    expect(await toldOf(credential)).toEqual(['credential_unclear', told])
    expect(await leaseOn(credential)).toBeUndefined()
  },
)

test('an order that never left says nothing of a token: nothing is asked, where nothing was unclear', async () => {
  const provider = new Provider(world.key)
  const credential = await connected('never-left')
  await leave(credential)
  provider.recover = async () => ({ kind: 'never_started' })
  const [one] = await gatewaysOf(provider)
  await one?.sweep()
  expect(provider).toMatchObject({ refreshes: 0, refused: 0 })
  expect(await toldOf(credential)).toEqual([])
  expect(await leaseOn(credential)).toBeUndefined()
})

test('a provider that is away while it is unclear is asked until it tells, by whichever gateway is there', async () => {
  const provider = new Provider(world.key)
  const credential = await connected('unclear-away')
  provider.current++
  await leave(credential)
  provider.recover = async () => ({ kind: 'not_known' })
  provider.answer = 'away'
  const [one] = await gatewaysOf(provider)
  await one?.sweep()
  expect(await leaseOn(credential)).toMatchObject({ isUnclear: true, leaseUntil: 0 })
  expect(await stored(credential.id)).toMatchObject({ version: 1, state: 'active' })
  provider.answer = 'well'
  // Its token is good for long: nothing but the question makes another gateway ask.
  const [, other] = await gatewaysOf(provider)
  await other?.sweep()
  expect(await stored(credential.id)).toMatchObject({ version: 1, state: 'broken' })
  expect(await toldOf(credential)).toEqual(['credential_unclear', 'credential_broken'])
})

test('a call does not wait for the time of a refresh whose gateway is gone, where its answer can be had', async () => {
  const provider = new Provider(world.key)
  const credential = await connected('found')
  await leave(credential)
  provider.recover = async () => ({ kind: 'broken', code: 'oauth_invalid_grant' })
  const [one] = await gatewaysOf(provider)
  const before = performance.now()
  expect(await one?.refresh(credential)).toBe('unusable')
  expect(performance.now() - before).toBeLessThan(10_000)
  expect(provider.refreshes).toBe(0)
})

test('the refresh of a gateway that lives is left to it, until its time is over', async () => {
  const provider = new Provider(world.key)
  let asked = 0
  provider.recover = async () => {
    asked++
    return { kind: 'elsewhere' }
  }
  const { deps, store } = world
  const [one] = await gatewaysOf(provider)
  const credential = await connected('living')
  const holder = deps.ids('instance')
  const now = await store.transact((tx) => tx.now())
  const lease = {
    ...{ credentialId: credential.id, credentialVersion: 1, holder, leaseUntil: now + 60_000 },
    ...{ intentId: deps.ids('intent'), workerInstance: deps.ids('instance'), issuedAt: now },
    isUnclear: false,
  }
  await store.transact(async (tx) => {
    await tx.instances.renew({ id: holder, startedAt: now, leaseUntil: now + 30_000 })
    await tx.oauth.takeLease(lease)
  })
  await one?.sweep()
  expect(asked).toBe(0)
  // It is gone, and its worker cannot be asked from here: nobody knows before the time of the order is over.
  await store.transact((tx) => tx.instances.end(holder))
  await one?.sweep()
  expect(asked).toBe(1)
  expect(await store.oauth.leases()).toContainEqual(lease)
  const over = { ...lease, leaseUntil: now - 1 }
  await store.transact((tx) => tx.oauth.moveLease(lease.intentId, over))
  await one?.sweep()
  expect(asked).toBe(2)
  expect(await stored(credential.id)).toMatchObject({ version: 2, state: 'active' })
})
