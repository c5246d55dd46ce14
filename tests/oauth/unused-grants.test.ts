/**
 * What an authorization server gave, and nobody here keeps: taken back, unless that may end what is in use. Many servers
 * end all that one account gave to one client with any token of it.
 */
import {
  type Connection,
  disconnect,
  editConnection,
  removeConnection,
  type Store,
} from '@sallyport/core'
import type { JournalEvent } from '@sallyport/protocol/node'
import { expect, test } from 'vitest'
import { DeniedOAuth } from '../../apps/gateway/src/deny/denied-oauth.ts'
import { destinations } from '../authority/world.ts'
import { type Account, SignInWorld } from './sign-in-world.ts'

type End = (one: SignInWorld, connection: Connection) => Promise<unknown>

const take: End = ({ deps, world }, { id }) =>
  editConnection(deps, world.admin, id, { credential: null }, destinations)
const endings: readonly (readonly [what: string, end: End])[] = [
  ['disconnects', ({ deps, world }, { id }) => disconnect(deps, world.admin, id)],
  ['removes', ({ deps, world }, { id }) => removeConnection(deps, world.admin, id)],
  ['takes the credential of', take],
]

/** An edit that may lead to another server. */
const move: End = ({ store }, { id }) =>
  store.transact(async (tx) => {
    const before = await tx.connections.get(id)
    if (!before) throw new Error('no connection')
    const { version, revision } = before
    return tx.connections.update(
      { ...before, revision: revision + 1, version: version + 1 },
      version,
    )
  })
const told = async ({ store }: SignInWorld) => {
  const pages = await store.journal.pages(0, Number.MAX_SAFE_INTEGER, 100)
  return pages
    .flatMap(({ text }) => JSON.parse(text).events as JournalEvent[])
    .map(({ kind, code }) => (code ? `${kind} ${code}` : kind))
    .filter((kind) => kind.startsWith('sign_in'))
}

const cases = endings.flatMap(([what, end]) =>
  (['same', 'unproved', 'other'] as const).map((account) => [what, account, end] as const),
)
test.each(cases)(
  'whoever %s a connection while a sign-in of the account "%s" ends has both grants revoked',
  async (what, account, end) => {
    const one = await SignInWorld.start()
    const docs = await one.add('docs')
    const before = await one.signedIn(docs)
    const begun = await one.begin(docs, account, () => end(one, docs))
    expect(await begun.finish()).toMatchObject({ state: 'failed' })
    expect((await one.store.credentials.get(before.id))?.state).toBe('revoked')
    expect(await one.store.credentials.get(begun.fresh)).toBeUndefined()
    const given = account === 'same' ? `${before.id} 2` : `${begun.fresh} 1`
    // Of a disconnect whoever asked for it tells the server.
    const ended = what === 'disconnects' ? [] : [`${before.id} 1`]
    expect(await one.settle()).toEqual([...ended, given])
  },
)

test.each<[account: Account, isRevoked: boolean]>([
  ['same', false],
  ['unproved', false],
  ['other', true],
])(
  'a sign-in of the account "%s" that is refused beside a credential in use is revoked: %s',
  async (account, isRevoked) => {
    const one = await SignInWorld.start()
    const docs = await one.add('docs')
    const before = await one.signedIn(docs)
    const begun = await one.begin(docs, account, () => move(one, docs))
    expect(await begun.finish()).toMatchObject({ state: 'failed', code: 'oauth_flow_over' })
    expect(await one.settle()).toEqual(isRevoked ? [`${begun.fresh} 1`] : [])
    expect(await one.present(docs)).toEqual(before)
  },
)

test('one that is refused beside a broken credential of its account is left: others may stand on it', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs')
  const before = await one.signedIn(docs)
  await one.store.transact((tx) => tx.credentials.update({ ...before, state: 'broken' }, 1))
  await (await one.begin(docs, 'same', () => move(one, docs))).finish()
  expect(await one.settle()).toEqual([])
})

test.each<[account: Account, of: string]>([
  ['first', 'a connection without a credential'],
  ['unproved', 'one with a credential'],
  ['other', 'one with a credential'],
])(
  'of two sign-ins of the account "%s" that end at once, for %s, the second is refused and ends nothing',
  async (account) => {
    const one = await SignInWorld.start()
    const docs = await one.add('docs')
    const before = account === 'first' ? undefined : await one.signedIn(docs)
    const winner = await one.begin(docs, account)
    const loser = await one.begin(docs, account, winner.finish)
    expect(await loser.finish()).toMatchObject({ state: 'failed', code: 'conflict' })
    expect(await one.present(docs)).toMatchObject({ id: winner.fresh, state: 'active' })
    // The account of before is somebody else's only for "other".
    expect(await one.settle()).toEqual(account === 'other' ? [`${before?.id} 1`] : [])
  },
)

test('of two that end at once the second ends nothing where it is the next version as well', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs')
  const { id } = await one.signedIn(docs)
  const winner = await one.begin(docs, 'same')
  const loser = await one.begin(docs, 'same', winner.finish)
  expect(await loser.finish()).toMatchObject({ state: 'failed', code: 'conflict' })
  expect(await one.present(docs)).toMatchObject({ id, version: 2, state: 'active' })
  expect(await one.settle()).toEqual([])
})

test('one that is refused ends nothing while another is about to be published; one that cannot be any more counts for nothing', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs')
  const { promise, resolve } = Promise.withResolvers<void>()
  const winner = await one.begin(docs, 'first', () => promise)
  const ends = winner.finish()
  const refused = await one.begin(docs, 'first', () => interrupt(one, docs))
  await refused.finish()
  expect(await one.settle()).toEqual([])
  resolve()
  expect(await ends).toMatchObject({ state: 'done' })
  // Control: of two that are ended by a disconnect neither spares the other.
  const gate = Promise.withResolvers<void>()
  const late = await one.begin(docs, 'same', () => gate.promise)
  const lateEnds = late.finish()
  const early = await one.begin(docs, 'same', () => disconnect(one.deps, one.world.admin, docs.id))
  await early.finish()
  expect(await one.settle()).toHaveLength(1)
  gate.resolve()
  expect(await lateEnds).toMatchObject({ state: 'failed' })
  expect(await one.settle()).toHaveLength(2)
})

test('one that is refused ends nothing of a sign-in that is published while what is in use is looked for', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs')
  const before = await one.signedIn(docs)
  const { promise, resolve } = Promise.withResolvers<void>()
  const winner = await one.begin(docs, 'other', () => promise)
  const ends = winner.finish()
  const beside = await one.add('beside')
  const refused = await one.begin(beside, 'first', () => move(one, beside))
  one.whileLooking = async () => {
    resolve()
    expect(await ends).toMatchObject({ state: 'done' })
  }
  await refused.finish()
  expect(await one.settle()).toEqual([`${before.id} 1`])
  expect(await one.present(docs)).toMatchObject({ id: winner.fresh, state: 'active' })
})

test.each<[account: Account, what: string, isRevoked: boolean]>([
  ['first', 'is not signed in', true],
  ['same', 'is signed in', false],
  ['same', 'was disconnected meanwhile', true],
])(
  'a sign-in of the account "%s" whose places are not denied in time, for a connection that %s, is revoked: %s',
  async (account, what, isRevoked) => {
    const one = await SignInWorld.start()
    const docs = await one.add('docs')
    const before = account === 'first' ? undefined : await one.signedIn(docs)
    const meanwhile = async () => {
      if (what.includes('disconnected')) await disconnect(one.deps, one.world.admin, docs.id)
    }
    const begun = await one.begin(docs, account, meanwhile, oauthDenied(one))
    const ended = await begun.finish()
    expect(ended).toMatchObject({ state: 'failed', code: 'deny_set_pending' })
    const given = before ? `${before.id} 2` : `${begun.fresh} 1`
    expect(await one.settle()).toEqual(isRevoked ? [given] : [])
  },
)

/** Whatever is to be denied does not come into force. */
function oauthDenied({ deps, store, revoker }: SignInWorld): DeniedOAuth {
  const { oauth } = deps
  const places = [{ scheme: 'https', host: 'login.example', port: 443 }] as const
  return new DeniedOAuth({
    worker: {
      begin: oauth.begin,
      finish: async (...asked) => ({ ...(await oauth.finish(...asked)), places }),
      revoke: () => Promise.reject(new Error('the revoker does that')),
    },
    ...{ store, revoker, now: Date.now },
    denySets: { changed: () => {}, settle: async () => {} },
  })
}

/** Ends the newest flow, as it is done with one whose gateway is gone. */
const interrupt: End = ({ store }, { id }) =>
  store.transact(async (tx) => {
    const flows = (await tx.oauth.openFlows()).filter(({ connectionId }) => connectionId === id)
    const newest = flows.toSorted((one, other) => (one.id < other.id ? 1 : -1))[0]
    if (!newest) throw new Error('no flow')
    return tx.oauth.closeFlow({ ...newest, state: 'failed', code: 'oauth_flow_over', pending: '' })
  })

test.each<['login' | 'other', isRevoked: boolean]>([
  ['login', false],
  ['other', true],
])(
  'where another connection has a credential of the issuer "%s", a refused first sign-in is revoked: %s',
  async (issuer, isRevoked) => {
    const one = await SignInWorld.start()
    await one.signedIn(await one.add('beside', issuer))
    const docs = await one.add('docs')
    const begun = await one.begin(docs, 'first', () =>
      removeConnection(one.deps, one.world.admin, docs.id),
    )
    expect(await begun.finish()).toMatchObject({ state: 'failed' })
    expect(await one.settle()).toEqual(isRevoked ? [`${begun.fresh} 1`] : [])
  },
)

test('what is of the account that was disconnected is revoked with it, whatever other connections have', async () => {
  const one = await SignInWorld.start()
  await one.signedIn(await one.add('beside'))
  const docs = await one.add('docs')
  const { id } = await one.signedIn(docs)
  const begun = await one.begin(docs, 'same', () => disconnect(one.deps, one.world.admin, docs.id))
  expect(await begun.finish()).toMatchObject({ state: 'failed' })
  expect(await one.settle()).toEqual([`${id} 2`])
})

test('what somebody ended is not revoked late, when somebody may have signed in with the account again', async () => {
  const one = await SignInWorld.start()
  const { promise, resolve } = Promise.withResolvers<void>()
  one.revokesAfter = promise
  const names = ['hangs-1', 'hangs-2', 'hangs-3', 'hangs-4', 'again', 'gone']
  const ended: string[] = []
  for (const name of names) {
    const connection = await one.add(name)
    ended.push(`${(await one.signedIn(connection)).id} 1`)
    await take(one, connection)
    if (name === 'again') await one.signedIn(connection)
  }
  expect(await one.settle()).toEqual(ended.slice(0, 4))
  resolve()
  expect(await one.settle()).toEqual(ended.toSpliced(4, 1))
})

test.each<[meanwhile: string, then: Account | 'nobody', isRevoked: boolean]>([
  ['is disconnected', 'nobody', true],
  ['is disconnected, and somebody signs in again', 'first', false],
  ['gives way to one that may be of its account', 'unproved', false],
])(
  'what a refresh brings when its credential %s (%s) is revoked: %s',
  async (_, then, isRevoked) => {
    const one = await SignInWorld.start()
    const docs = await one.add('docs')
    const before = await one.signedIn(docs)
    const refresher = one.refresher(async () => {
      if (then !== 'unproved') await disconnect(one.deps, one.world.admin, docs.id)
      if (then !== 'nobody') await one.signedIn(docs, then)
    })
    expect(await refresher.refresh(before)).toBe('unusable')
    expect(await one.settle()).toEqual(isRevoked ? [`${before.id} 2`] : [])
    if (then !== 'nobody') expect(await one.present(docs)).toMatchObject({ state: 'active' })
  },
)

test('what is found of a refresh that was left is revoked when its credential was disconnected since', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs')
  const before = await one.signedIn(docs)
  const { deps, store, world } = one
  await store.transact((tx) =>
    tx.oauth.takeLease({
      ...{ credentialId: before.id, credentialVersion: 1, holder: deps.ids('instance') },
      ...{ leaseUntil: Date.now() + 60_000, intentId: deps.ids('intent') },
      ...{ workerInstance: 'worker', issuedAt: 1, isUnclear: false },
    }),
  )
  await disconnect(deps, world.admin, docs.id)
  const granted = one.granted({ connection: docs, credential: before }, 'same', '')
  const never = () => Promise.reject(new Error('not refreshed'))
  await one.refresher(never, async () => ({ kind: 'granted', granted })).sweep()
  expect(await one.settle()).toEqual([`${before.id} 2`])
  expect(await store.oauth.leases()).toEqual([])
})

test('client credentials that cannot be published are taken back, and the journal tells it', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs', 'login', true)
  const { begun, fresh } = await one.beginClient(docs, 'first', () => move(one, docs))
  expect(begun).toMatchObject({ code: 'conflict' })
  expect(await one.settle()).toEqual([`${fresh} 1`])
  expect(await told(one)).toEqual(['sign_in_refused conflict'])
  // Control: where nothing happens meanwhile they are kept.
  const other = await SignInWorld.start()
  const kept = await other.beginClient(
    await other.add('docs', 'login', true),
    'first',
    async () => {},
  )
  expect(kept.begun).toMatchObject({ flow: { state: 'done' }, authorizeUrl: null })
  expect(await other.settle()).toEqual([])
  expect(await told(other)).toEqual(['sign_in_completed'])
})

test('client credentials whose commit got no answer, and is there, are not taken back', async () => {
  const one = await SignInWorld.start()
  const docs = await one.add('docs', 'login', true)
  let isLost = false
  const transact: Store['transact'] = async (work, options) => {
    const result = await one.store.transact(work, options)
    if (isLost) return result
    isLost = true
    throw new Error('no answer')
  }
  const journal = one.journalOn({ transact })
  const { begun, fresh } = await one.beginClient(docs, 'first', async () => {}, journal)
  expect(begun).toMatchObject({ message: 'no answer' })
  expect(await one.settle()).toEqual([])
  expect(await one.store.credentials.get(fresh)).toMatchObject({ state: 'active' })
  expect(await told(one)).toEqual(['sign_in_completed'])
})
