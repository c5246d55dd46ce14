import type { SandboxEvidence } from '@sallyport/protocol'
import { expect, test } from 'vitest'
import {
  addProfile,
  code,
  enabledConnection,
  grant,
  listingOf,
  newWorld,
  type World,
} from '../../../../tests/authority/world.ts'
import { sampleEvidence, samplePlan } from '../../../protocol/src/sandbox/sample-sandbox.ts'
import { type CreatedSession, createSession, type NewSession } from '../session/create-session.ts'
import { endSession } from '../session/end-session.ts'
import type { Actor } from '../user/user.ts'
import { endLostOwners, type OwnerWatch } from './end-lost-owners.ts'
import { hearOwner } from './hear-owner.ts'
import { reconnectMs, silenceMs, verifyMs } from './session-sandbox.ts'
import { showEvidence } from './show-evidence.ts'

const idle = { settleSession: async () => {} }
const owner = { pid: 5, boot: 'b', namespace: 'pid:[1]', start: '3' }
const sandbox = { plan: samplePlan, owner }

let now: number
async function world(): Promise<World> {
  now = 1_000_000
  const w = await newWorld(undefined, () => now)
  await addProfile(w, 'p', { isolation: ['bubblewrap', 'none'] })
  return w
}

const create = (w: World, more: Partial<NewSession> = {}, actor: Actor = w.alice) =>
  createSession(w.deps, actor, { profile: 'p', isolation: 'bubblewrap', sandbox, ...more })

const show = (
  w: World,
  { session, ownerKey }: CreatedSession,
  evidence: SandboxEvidence = sampleEvidence,
  actor: Actor = w.alice,
) => showEvidence(w.deps, idle, actor, session.id, { ownerKey: ownerKey ?? '', evidence })

const hear = (w: World, { session, ownerKey }: CreatedSession, actor: Actor = w.alice, since = 0) =>
  hearOwner(w.deps, actor, session.id, { ownerKey: ownerKey ?? '', since })

const look = (w: World, watch: Partial<OwnerWatch> = {}) =>
  endLostOwners(w.deps, idle, {
    isProvedGone: () => false,
    since: 0,
    now,
    onFailure: (_, error) => expect.fail(String(error)),
    ...watch,
  })

const stateOf = async (w: World, { session }: CreatedSession) => {
  const row = await w.store.sessions.get(session.id)
  return [row?.state, row?.endReason]
}

const otherNetwork: SandboxEvidence = {
  ...sampleEvidence,
  network: { interfaces: ['eth0', 'lo'], routes: 1 },
}

test('a session with a sandbox is created closed, and opened by evidence that matches', async () => {
  const w = await world()
  const created = await create(w)
  expect(created.session).toMatchObject({ state: 'created', openedAt: null, evidence: null })
  expect(created.ownerKey).toMatch(/^[\w-]{43}$/)
  now += 10
  const open = await show(w, created)
  expect(open).toMatchObject({ state: 'open', openedAt: now })
  expect(await w.store.sandboxes.get(created.session.id)).toMatchObject({
    evidence: sampleEvidence,
    provedAt: now,
    seenAt: now,
  })
})

test('evidence that does not match ends the session, and what was shown is on record', async () => {
  const w = await world()
  const created = await create(w)
  const rejected = show(w, created, otherNetwork)
  await expect(rejected).rejects.toMatchObject(code('evidence_mismatch', 'interfaces'))
  expect(await stateOf(w, created)).toEqual(['ended', 'evidence_mismatch'])
  expect(await w.store.sandboxes.get(created.session.id)).toMatchObject({
    evidence: otherNetwork,
    provedAt: null,
  })
  await expect(show(w, created)).rejects.toMatchObject(code('session_ended'))
})

test.each([
  ['no plan', {}],
  ['a plan of another class', { isolation: 'none', sandbox }],
  ['a plan that is no sandbox', { sandbox: { owner, plan: { ...samplePlan, seccomp: null } } }],
] as const)('a session of such a class is refused with %s', async (what, more) => {
  const w = await world()
  const given = what === 'no plan' ? { sandbox: undefined } : more
  await expect(create(w, given)).rejects.toMatchObject(code('bad_request'))
  expect(await w.store.sessions.list({ limit: 9 })).toEqual([])
})

test('a session of class external has no sandbox, and none is taken', async () => {
  const w = await world()
  await addProfile(w, 'q')
  const external = { profile: 'q', isolation: 'external' } as const
  await expect(create(w, external)).rejects.toMatchObject(code('bad_request', 'sandbox'))
  const created = await create(w, { ...external, sandbox: undefined })
  expect(created).toMatchObject({ ownerKey: null, session: { state: 'open' } })
  await expect(show(w, created)).rejects.toMatchObject(code('not_found'))
})

test('the profile says which classes it accepts', async () => {
  const w = await world()
  await addProfile(w, 'walls', { isolation: ['bubblewrap'] })
  const none = { plan: { ...samplePlan, isolation: 'none' } as const, owner }
  const bare = { profile: 'walls', isolation: 'none', sandbox: none } as const
  await expect(create(w, bare)).rejects.toMatchObject(code('isolation_refused'))
  expect((await create(w, { profile: 'walls' })).session.state).toBe('created')
  expect((await create(w, { ...bare, profile: 'p' })).session.isolation).toBe('none')
})

test('only the process that owns the sandbox speaks for it, whoever else has its token', async () => {
  const w = await world()
  const created = await create(w)
  const another = await create(w)
  const stranger = { ...created, ownerKey: another.ownerKey }
  await expect(show(w, stranger)).rejects.toMatchObject(code('not_the_owner'))
  await expect(hear(w, stranger)).rejects.toMatchObject(code('not_the_owner'))
  const reason = { ownerKey: another.ownerKey ?? '', reason: 'guest_ended' } as const
  const ending = endSession(w.deps, idle, w.alice, created.session.id, reason)
  await expect(ending).rejects.toMatchObject(code('not_the_owner'))
  await expect(show(w, created, sampleEvidence, w.bob)).rejects.toMatchObject(code('not_found'))
  await expect(hear(w, created, w.bob)).rejects.toMatchObject(code('not_found'))
  expect((await show(w, created)).state).toBe('open')
})

test('the owner tells why a session ended', async () => {
  const w = await world()
  const created = await create(w)
  await show(w, created)
  const reason = { ownerKey: created.ownerKey ?? '', reason: 'guest_killed' } as const
  await endSession(w.deps, idle, w.alice, created.session.id, reason)
  expect(await stateOf(w, created)).toEqual(['ended', 'guest_killed'])
  expect(await hear(w, created)).toMatchObject({ session: { state: 'ended' }, prove: false })
})

test('a session whose owner is proved gone ends at once, in every state', async () => {
  const w = await world()
  const [fresh, open, other] = [await create(w), await create(w), await create(w)]
  await show(w, open)
  expect(await look(w)).toEqual([])
  await endSession(w.deps, idle, w.alice, other.session.id)
  const ended = await look(w, { isProvedGone: ({ pid }) => pid === owner.pid })
  expect(new Set(ended)).toEqual(new Set([fresh.session.id, open.session.id]))
  for (const created of [fresh, open])
    expect(await stateOf(w, created)).toEqual(['ended', 'owner_lost'])
  expect(await stateOf(w, other)).toEqual(['ended', 'ended_by_user'])
})

test('an owner that is silent is lost; one that is heard is not', async () => {
  const w = await world()
  const [heard, silent] = [await create(w), await create(w)]
  for (const created of [heard, silent]) await show(w, created)
  now += silenceMs
  expect(await look(w)).toEqual([])
  expect((await hear(w, heard)).prove).toBe(false)
  now += 1
  expect(await look(w)).toEqual([silent.session.id])
  expect(await stateOf(w, silent)).toEqual(['ended', 'owner_lost'])
})

test('silence while there was no gateway is nobody’s; after ten minutes it is too late', async () => {
  const w = await world()
  const [back, gone] = [await create(w), await create(w)]
  for (const created of [back, gone]) await show(w, created)
  now += reconnectMs - 1000
  const since = now
  expect(await look(w, { since })).toEqual([])
  expect(await hear(w, back)).toMatchObject({ prove: true })
  now += silenceMs
  // It was told to prove itself: having said so is not enough.
  expect((await w.store.sandboxes.get(back.session.id))?.provedAt).toBeLessThan(since)
  expect((await show(w, back)).state).toBe('open')
  expect((await hear(w, back)).prove).toBe(false)
  now += 1
  expect(await look(w, { since })).toEqual([gone.session.id])
  now += reconnectMs
  expect(await look(w, { since: now })).toEqual([back.session.id])
})

test('to a gateway that has begun since, a sandbox is proved again', async () => {
  const w = await world()
  const created = await create(w)
  await show(w, created)
  now += 1000
  const since = now
  expect((await hear(w, created, w.alice, since)).prove).toBe(true)
  await show(w, created)
  expect((await hear(w, created, w.alice, since)).prove).toBe(false)
})

test('another sandbox than before is not the one that was verified', async () => {
  const w = await world()
  const created = await create(w)
  await show(w, created)
  const running = { ...sampleEvidence, processes: 12, descriptors: [] }
  expect((await show(w, created, running)).state).toBe('open')
  const process = { ...running.process, start: '10' }
  const rejected = show(w, created, { ...running, process })
  await expect(rejected).rejects.toMatchObject(code('evidence_mismatch', 'sandbox'))
  expect(await stateOf(w, created)).toEqual(['ended', 'evidence_mismatch'])
})

test('a sandbox that changed behind its verification ends its session', async () => {
  const w = await world()
  const created = await create(w)
  await show(w, created)
  await expect(show(w, created, otherNetwork)).rejects.toMatchObject(code('evidence_mismatch'))
  expect(await stateOf(w, created)).toEqual(['ended', 'evidence_mismatch'])
})

test('what is never verified ends, however much its owner is heard', async () => {
  const w = await world()
  const created = await create(w)
  now += verifyMs
  await hear(w, created)
  expect(await look(w)).toEqual([])
  now += 1
  expect(await look(w)).toEqual([created.session.id])
  expect(await stateOf(w, created)).toEqual(['ended', 'not_verified'])
})

test('a session that cannot be ended now is told, and the others are ended', async () => {
  const w = await world()
  await create(w)
  await create(w)
  const failed: unknown[] = []
  let count = 0
  const busy = {
    settleSession: async () => {
      if (++count === 1) throw new Error('not now')
    },
  }
  const watch = {
    isProvedGone: () => true,
    since: 0,
    now,
    onFailure: (id: unknown) => failed.push(id),
  }
  expect(await endLostOwners(w.deps, busy, watch)).toHaveLength(1)
  expect(failed).toHaveLength(1)
})

test('without a sandbox a write needs a grant that says so; a read does not', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, {}, listingOf('get_page', 'put_page'))
  await grant(w, w.admin, 'p', connection, 'get_page', 'read')
  await grant(w, w.admin, 'p', connection, 'put_page', 'write_with_approval')
  const bare = {
    isolation: 'none',
    sandbox: { plan: { ...samplePlan, isolation: 'none' } as const, owner },
  } as const
  const refused = await create(w, bare)
  expect(refused.bindings.map(({ tool }) => tool)).toEqual(['get_page'])
  expect(refused.session.unavailable).toMatchObject([{ tool: 'put_page', code: 'not_separated' }])
  expect((await create(w)).bindings).toHaveLength(2)
  await grant(w, w.admin, 'p', connection, 'put_page', 'write_with_approval', {
    isolation: ['none'],
  })
  expect((await create(w, bare)).bindings).toHaveLength(2)
  const walled = await create(w)
  expect(walled.session.unavailable).toMatchObject([
    { tool: 'put_page', code: 'isolation_refused' },
  ])
})
