import type { DenySet } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import {
  addConnection,
  addProfile,
  code,
  listingOf,
  newWorld,
  publish,
  type World,
} from '../../../../tests/authority/world.ts'
import { sampleEvidence, samplePlan } from '../../../protocol/src/sandbox/sample-sandbox.ts'
import { disableConnection } from '../connection/disable-connection.ts'
import { enableConnection } from '../connection/enable-connection.ts'
import { removeConnection } from '../connection/remove-connection.ts'
import { hearOwner } from '../sandbox/hear-owner.ts'
import { showEvidence } from '../sandbox/show-evidence.ts'
import { type CreatedSession, createSession, type NewSession } from '../session/create-session.ts'
import { endSession } from '../session/end-session.ts'
import type { Store } from '../store.ts'
import { bringDenySet, denyOwnListeners } from './bring-deny-set.ts'
import { confirmDenySet } from './confirm-deny-set.ts'
import { confirmWithinMs } from './deny-set.ts'
import { editDenySet } from './edit-deny-set.ts'
import { isKept, newestDenySet, sessionDenySet } from './session-denials.ts'

const idle = { settleSession: async () => {} }
const owner = { pid: 5, boot: 'b', namespace: 'pid:[1]', start: '3' }
const bubblewrap = { isolation: 'bubblewrap', sandbox: { plan: samplePlan, owner } } as const
const docs = { host: 'docs.example.com', port: 443 }
const wiki = { host: 'wiki.example.com', port: 443 }

let now: number
async function world(): Promise<World> {
  now = 1_000_000
  const w = await newWorld(undefined, () => now)
  await addProfile(w, 'p', { isolation: ['bubblewrap', 'none', 'external'] })
  return w
}

const bring = (w: World, deps: Pick<World['deps'], 'store' | 'journal'> = w.deps) =>
  bringDenySet(deps, idle)

/** A connection with a published catalog, so that only the deny set stands before its being enabled. */
async function ready(w: World, name = 'wiki') {
  const url = `https://${name}.example.com/mcp`
  const connection = await addConnection(w, w.admin, { name, url })
  await publish(w, w.admin, connection, listingOf('get_page'))
  return connection
}

const create = (w: World, more: Partial<NewSession> = {}) =>
  createSession(w.deps, w.alice, { profile: 'p', isolation: 'external', ...more })

const word = ({ revision, digest }: DenySet) => ({ revision, digest })

const show = (w: World, { session, ownerKey }: CreatedSession, denySet?: DenySet) =>
  showEvidence(w.deps, idle, w.alice, session.id, {
    ownerKey: ownerKey ?? '',
    evidence: sampleEvidence,
    denySet: denySet && word(denySet),
  })

const confirm = (w: World, { session, ownerKey }: CreatedSession, set: DenySet) =>
  confirmDenySet(w.deps, w.alice, session.id, {
    ...word(set),
    ...(ownerKey === null ? {} : { ownerKey }),
  })

/** With the places of `docs` in force, and a launched session in which that is enforced. */
async function launched(w: World): Promise<CreatedSession> {
  await ready(w, 'docs')
  await bring(w)
  const session = await create(w, bubblewrap)
  await show(w, session, session.denySet)
  return session
}

const inForce = async ({ store }: World) => (await store.denials.published())?.entries
const reasonOf = async (w: World, { session }: CreatedSession) =>
  (await w.store.sessions.get(session.id))?.endReason

test('places of every connection are denied, of drafts and disabled ones too, each once, in one order', async () => {
  const w = await world()
  await ready(w)
  const first = await ready(w, 'docs')
  await addConnection(w, w.alice, { scope: 'personal', url: 'https://docs.example.com/other' })
  expect(await bring(w)).toBe('in_force')
  expect(await inForce(w)).toEqual([docs, wiki])
  await enableConnection(w.deps, w.admin, first.id)
  await disableConnection(w.deps, w.admin, first.id)
  expect(await bring(w)).toBe('in_force')
  expect((await newestDenySet(w.store)).revision).toBe(1)
})

test('so are servers on the way of a sign-in, listeners of gateways that live, and what the operator adds', async () => {
  const w = await world()
  const { id } = await addConnection(w, w.admin)
  const places = [{ scheme: 'https', host: '[2001:db8::1]', port: 8443 }] as const
  const gone = w.deps.ids('instance')
  await w.store.transact(async (tx) => {
    const oauth = { connectionId: id, grantType: 'authorization_code' } as const
    const none = { scopeWanted: [], scopeRequired: [], clientId: null, issuer: null, server: null }
    await tx.oauth.putConnection({ ...oauth, ...none, places })
    await tx.denials.putSource({ source: gone, entries: [wiki], at: now })
  })
  const own = { host: '127.0.0.1', port: 7400 }
  await denyOwnListeners(w.store, { source: w.deps.ids('instance'), entries: [own] })
  const add = ['*.Corp.Example', '10.0.0.0/8', '[::1]:80', 'db.example:5432', '::2']
  await editDenySet(w.deps, w.admin, { add, remove: [] })
  await editDenySet(w.deps, w.admin, { add: [], remove: ['DB.example:5432'] })
  await bring(w)
  expect(await inForce(w)).toEqual([
    { host: '*.corp.example', port: null },
    { host: '10.0.0.0/8', port: null },
    own,
    { host: '2001:db8::1', port: 8443 },
    { host: '::1', port: 80 },
    { host: '::2', port: null },
    docs,
  ])
})

test.each([['not a host'], ['a.example:0'], ['a.example:65536'], ['10.0.0.1/8'], ['*']])(
  'the operator cannot add %s',
  async (place) => {
    const w = await world()
    const refused = async () => editDenySet(w.deps, w.admin, { add: [place], remove: [] })
    await expect(refused()).rejects.toMatchObject(code('bad_request', 'add'))
    await expect(
      editDenySet(w.deps, w.alice, { add: ['a.example'], remove: [] }),
    ).rejects.toMatchObject(code('not_allowed'))
  },
)

test('a connection is enabled only once every sandbox that runs has confirmed that it is denied', async () => {
  const w = await world()
  const session = await launched(w)
  const { id } = await ready(w)
  const enable = () => enableConnection(w.deps, w.admin, id)
  expect(await bring(w)).toBe('waiting')
  await expect(enable()).rejects.toMatchObject(code('deny_set_pending'))
  expect(await inForce(w)).toEqual([docs])
  const heard = await hearOwner(w.deps, w.alice, session.session.id, {
    ownerKey: session.ownerKey ?? '',
    since: 0,
  })
  expect(heard.denySet).toBe(2)
  const set = await sessionDenySet(w.store, session.session.id)
  expect(set).toMatchObject({ revision: 2, entries: [docs, wiki] })
  await confirm(w, session, set)
  expect(await bring(w)).toBe('in_force')
  expect(await enable()).toMatchObject({ state: 'enabled' })
})

test.each([
  ['another revision', (set: DenySet) => ({ ...set, revision: 1 })],
  ['another digest', (set: DenySet) => ({ ...set, digest: `sha256:${'0'.repeat(64)}` })],
])('a word about %s confirms nothing', async (_, changed) => {
  const w = await world()
  const session = await launched(w)
  await ready(w)
  await bring(w)
  const set = await sessionDenySet(w.store, session.session.id)
  await expect(confirm(w, session, changed(set))).rejects.toMatchObject(code('deny_set_mismatch'))
  expect(await bring(w)).toBe('waiting')
  await confirm(w, session, set)
  expect(await bring(w)).toBe('in_force')
})

test('nobody but its launcher confirms for a sandbox', async () => {
  const w = await world()
  const session = await launched(w)
  const said = word(session.denySet)
  const ask = (more: object, actor = w.alice) =>
    confirmDenySet(w.deps, actor, session.session.id, { ...said, ...more })
  await expect(ask({})).rejects.toMatchObject(code('not_the_owner'))
  await expect(ask({ ownerKey: 'k'.repeat(43) })).rejects.toMatchObject(code('not_the_owner'))
  const ownerKey = session.ownerKey ?? ''
  await expect(ask({ ownerKey }, w.bob)).rejects.toMatchObject(code('not_found'))
  expect(await ask({ ownerKey })).toMatchObject({ confirmed: said.revision })
  await endSession(w.deps, idle, w.alice, session.session.id)
  await expect(ask({ ownerKey })).rejects.toMatchObject(code('session_ended'))
})

test('an owner that does not confirm in its time loses its session, and then the set is in force', async () => {
  const w = await world()
  const [silent, heard] = [await launched(w), await create(w, bubblewrap)]
  await show(w, heard, heard.denySet)
  await ready(w)
  now += 1
  await bring(w)
  await confirm(w, heard, await sessionDenySet(w.store, heard.session.id))
  now += confirmWithinMs
  expect(await bring(w)).toBe('waiting')
  expect(await reasonOf(w, silent)).toBeNull()
  now += 1
  expect(await bring(w)).toBe('in_force')
  expect(await reasonOf(w, silent)).toBe('deny_set_unconfirmed')
  expect(await reasonOf(w, heard)).toBeNull()
  expect(await inForce(w)).toEqual([docs, wiki])
})

test('a sandbox opens only with what is in force; what is staged meanwhile it may confirm later', async () => {
  const w = await world()
  const early = await create(w, bubblewrap)
  await ready(w, 'docs')
  await bring(w)
  await expect(show(w, early)).rejects.toMatchObject(code('deny_set_unconfirmed'))
  await expect(show(w, early, early.denySet)).rejects.toMatchObject(code('deny_set_mismatch'))
  expect(await reasonOf(w, early)).toBeNull()
  const set = await sessionDenySet(w.store, early.session.id)
  expect(await show(w, early, set)).toMatchObject({ state: 'open' })
})

test('what a session is denied only grows until it ends, and a later session is not denied it', async () => {
  const w = await world()
  const session = await launched(w)
  const { id } = await ready(w)
  await bring(w)
  await confirm(w, session, await sessionDenySet(w.store, session.session.id))
  await removeConnection(w.deps, w.admin, id)
  await bring(w)
  const set = await sessionDenySet(w.store, session.session.id)
  expect(set).toMatchObject({ revision: 3, entries: [docs, wiki] })
  const later = await create(w)
  expect(later.denySet).toMatchObject({ revision: 3, entries: [docs] })
  await confirm(w, session, set)
  expect(await bring(w)).toBe('in_force')
  expect(await inForce(w)).toEqual([docs])
})

test('in a session of class external, its creator’s word counts for the set it names', async () => {
  const w = await world()
  await ready(w, 'docs')
  await bring(w)
  const set = await newestDenySet(w.store)
  const stale = create(w, { denySet: { ...word(set), revision: 0 } })
  await expect(stale).rejects.toMatchObject(code('deny_set_mismatch'))
  const [kept, open] = [await create(w, { denySet: word(set) }), await create(w)]
  expect(await isKept(w.store, kept.session.id)).toBe(true)
  expect(await isKept(w.store, open.session.id)).toBe(false)
  await ready(w)
  expect(await bring(w)).toBe('waiting')
  now += confirmWithinMs + 1
  expect(await bring(w)).toBe('in_force')
  expect(await reasonOf(w, kept)).toBeNull()
  expect(await isKept(w.store, kept.session.id)).toBe(false)
  for (const one of [kept, open])
    await confirm(w, one, await sessionDenySet(w.store, one.session.id))
  expect(await isKept(w.store, kept.session.id)).toBe(true)
  expect(await isKept(w.store, open.session.id)).toBe(true)
})

test('without walls a guest is kept from nothing, and nothing can be confirmed', async () => {
  const w = await world()
  const none = { plan: { ...samplePlan, isolation: 'none' } as const, owner }
  const bare = await create(w, { isolation: 'none', sandbox: none })
  await ready(w)
  await bring(w)
  expect(await isKept(w.store, bare.session.id)).toBe(false)
  const set = await sessionDenySet(w.store, bare.session.id)
  await expect(confirm(w, bare, set)).rejects.toMatchObject(code('not_allowed'))
})

/** Fails at its n-th transaction: before it, or when it is committed and nobody hears of it. */
function dying(store: Store, at: number, when: 'before' | 'after'): Store {
  let count = 0
  const transact: Store['transact'] = async (work, options) => {
    count++
    if (count === at && when === 'before') throw new Error('killed')
    const result = await store.transact(work, options)
    if (count === at) throw new Error('killed')
    return result
  }
  return Object.assign(Object.create(store), { ...store, transact }) as Store
}

test.each(
  [1, 2, 3].flatMap((at) => (['before', 'after'] as const).map((when) => [when, at] as const)),
)(
  'killed %s its transaction %i, the old or the new set is in force, and whoever looks next brings the new one',
  async (when, at) => {
    const w = await world()
    const session = await launched(w)
    const { id } = await ready(w)
    const died = bring(w, { store: dying(w.store, at, when), journal: w.deps.journal })
    await expect(died).rejects.toThrow('killed')
    // The sandbox has confirmed nothing: whatever was done, it is the old one.
    expect(await inForce(w)).toEqual([docs])
    await expect(enableConnection(w.deps, w.admin, id)).rejects.toMatchObject(
      code('deny_set_pending'),
    )
    await bring(w)
    await confirm(w, session, await sessionDenySet(w.store, session.session.id))
    const again = bring(w, { store: dying(w.store, at, when), journal: w.deps.journal })
    await again.catch(() => undefined)
    expect([JSON.stringify([docs]), JSON.stringify([docs, wiki])]).toContain(
      JSON.stringify(await inForce(w)),
    )
    expect(await bring(w)).toBe('in_force')
    expect(await inForce(w)).toEqual([docs, wiki])
    expect(await w.store.denials.since(0)).toHaveLength(2)
  },
)

test('a change that comes before everybody has confirmed takes the place of the one before', async () => {
  const w = await world()
  const session = await launched(w)
  await ready(w)
  await bring(w)
  await ready(w, 'mail')
  expect(await bring(w)).toBe('waiting')
  const states = async () => (await w.store.denials.since(0)).map(({ state }) => state)
  expect(await states()).toEqual(['published', 'withdrawn', 'staged'])
  await confirm(w, session, await sessionDenySet(w.store, session.session.id))
  expect(await bring(w)).toBe('in_force')
  expect(await states()).toEqual(['superseded', 'withdrawn', 'published'])
  await endSession(w.deps, idle, w.alice, session.session.id)
  await editDenySet(w.deps, w.admin, { add: ['x.example'], remove: [] })
  await bring(w)
  // What nobody is denied any more is not kept.
  expect(await states()).toEqual(['published'])
})
