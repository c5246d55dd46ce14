/** A refresh that finds a lease which another one left: what it answers is about the version that was asked for. */
import {
  type Credential,
  type OAuthWorker,
  type RecoveredRefresh,
  Refresher,
  type RefreshLease,
} from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import { type JournalEvent, seal } from '@sallyport/protocol/node'
import { openMemoryStore } from '@sallyport/store'
import { expect, test } from 'vitest'
import { addConnection, newWorld } from '../authority/world.ts'

/** One credential whose token is over; a server that renews it, and a worker that knows of `found`. */
async function refreshing(stored: Pick<Credential, 'version'> = { version: 1 }) {
  const clock = { now: Date.now }
  const world = await newWorld(openMemoryStore({ now: () => clock.now() }))
  const { deps, key, store } = world
  const { ids } = deps
  const connection = await addConnection(world, world.admin)
  const [id, instance] = [ids('credential'), ids('instance')]
  const sealOf = (version: number) =>
    seal(
      { token: `t${version}` },
      { kind: 'credential', id, scope: connection.scope, version },
      key,
    )
  const oauth = { issuerHost: 'login.example', refreshable: true, expiresAt: 1 }
  const credential: Credential = {
    ...{ id, connectionId: connection.id, ...stored, state: 'active' },
    ...{ seal: sealOf(stored.version), clear: { bearer: true, headerNames: [], oauth } },
    ...{ createdAt: 0, updatedAt: 0 },
  }
  await store.transact(async (tx) => {
    await tx.credentials.insert(credential)
    await tx.oauth.putConnection({
      ...{ connectionId: connection.id, grantType: 'authorization_code', scopeWanted: [] },
      ...{ scopeRequired: [], clientId: null, issuer: null, server: null, places: [] },
    })
    const { version } = connection
    await tx.connections.update({ ...connection, credentialId: id, version: version + 1 }, version)
  })
  const seen = { refreshed: [] as number[], asked: 0, reported: [] as unknown[] }
  const known: { found: () => RecoveredRefresh } = { found: () => ({ kind: 'not_known' }) }
  const never = () => Promise.reject(new SallyportError('internal'))
  const worker: OAuthWorker = {
    ...{ begin: never, finish: never, revoke: never, settled: () => undefined },
    name: () => ({ intentId: ids('intent'), workerInstance: 'worker', issuedAt: Date.now() }),
    refresh: async ({ credential: given }) => {
      const version = (given?.version ?? 0) + 1
      seen.refreshed.push(version - 1)
      const row = { credentialId: id, credentialVersion: version, seal: sealOf(version) }
      const clear = { bearer: true, headerNames: [], oauth }
      const granted = { kind: 'granted', account: 'same', ...row, clear, places: [] } as const
      return { kind: 'granted', granted: { ...granted, clear: { ...clear, headerNames: [] } } }
    },
    recover: async () => {
      seen.asked++
      return known.found()
    },
  }
  const refresher = new Refresher({
    ...{ store, journal: deps.journal, oauth: worker, instance, now: Date.now },
    pause: async () => undefined,
    report: (error) => seen.reported.push(error),
  })
  /** Of a refresh of this version, by a gateway that is gone. */
  const leave = async (left: Partial<RefreshLease> & Pick<RefreshLease, 'credentialVersion'>) => {
    const lease: RefreshLease = {
      ...{ credentialId: id, holder: ids('instance'), leaseUntil: Date.now() + 60_000 },
      ...{ intentId: ids('intent'), workerInstance: 'gone', issuedAt: 1, isUnclear: false },
      ...left,
    }
    expect(await store.transact((tx) => tx.oauth.takeLease(lease))).toBe(true)
    return lease
  }
  const told = async () => {
    const pages = await store.journal.pages(0, Number.MAX_SAFE_INTEGER, 100)
    const events = pages.flatMap(({ text }) => JSON.parse(text).events as JournalEvent[])
    return events.map(({ kind }) => kind).filter((kind) => kind.startsWith('credential_'))
  }
  return { clock, store, credential, refresher, seen, known, leave, told }
}

test('the lease of an older version is forgotten, and this one is refreshed', async () => {
  const one = await refreshing({ version: 2 })
  await one.leave({ credentialVersion: 1 })
  expect(await one.refresher.refresh(one.credential)).toBe('renewed')
  expect(one.seen.refreshed).toEqual([2])
  expect(await one.store.credentials.get(one.credential.id)).toMatchObject({ version: 3 })
  expect(await one.store.oauth.leases()).toEqual([])
})

test('an order that never left is forgotten, and the refresh goes on', async () => {
  const one = await refreshing()
  one.known.found = () => ({ kind: 'never_started' })
  await one.leave({ credentialVersion: 1 })
  expect(await one.refresher.refresh(one.credential)).toBe('renewed')
  expect(one.seen).toMatchObject({ refreshed: [1], asked: 1 })
})

test('what is found of a newer version says that the one that was asked for is renewed', async () => {
  const found = () => ({ kind: 'transient', code: 'oauth_unavailable' }) as const
  const one = await refreshing({ version: 2 })
  one.known.found = found
  await one.leave({ credentialVersion: 2 })
  const { id } = one.credential
  expect(await one.refresher.refresh({ id, version: 1 })).toBe('renewed')
  // Control: of the version that it is about it is the answer.
  await one.leave({ credentialVersion: 2 })
  expect(await one.refresher.refresh({ id, version: 2 })).toBe('transient')
  expect(one.seen).toMatchObject({ refreshed: [], asked: 2 })
})

test('a worker that cannot be asked is reported and passes; calls are refused meanwhile, and the lease stays', async () => {
  const one = await refreshing()
  const lease = await one.leave({ credentialVersion: 1 })
  const down = new SallyportError('worker_down')
  one.known.found = () => {
    throw down
  }
  expect(await one.refresher.refresh(one.credential)).toBe('transient')
  expect(one.seen.reported).toEqual([down])
  expect(one.refresher.readiness(one.credential)).toBe('oauth_unavailable')
  expect(await one.store.oauth.leases()).toEqual([lease])
  // Control: once it can be asked, the answer is had.
  one.known.found = () => ({ kind: 'broken', code: 'oauth_invalid_grant' })
  expect(await one.refresher.refresh(one.credential)).toBe('unusable')
  expect(one.seen.reported).toHaveLength(1)
})

test('a lease that is over by the time another is taken is asked about first', async () => {
  const one = await refreshing()
  const start = Date.now()
  const holder = (await one.leave({ credentialVersion: 1, leaseUntil: start + 1_000 })).holder
  await one.store.transact((tx) =>
    tx.instances.renew({ id: holder, startedAt: start, leaseUntil: start + 600_000 }),
  )
  // It lasts when it is looked at, and no more when the next one is written.
  let looks = 0
  one.clock.now = () => start + (looks++ === 0 ? 0 : 2_000)
  expect(await one.refresher.refresh(one.credential)).toBe('renewed')
  expect(one.seen).toMatchObject({ refreshed: [1], asked: 1 })
  expect(await one.told()).toEqual(['credential_unclear', 'credential_renewed'])
})
