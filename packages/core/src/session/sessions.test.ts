import { expect, test } from 'vitest'
import {
  type Asked,
  announcedBy,
  anyConnection,
  askWrite,
  eventsOf,
} from '../../../../tests/authority/asked-writes.ts'
import {
  addConnection,
  addProfile,
  code,
  deny,
  destinations,
  discover,
  enabledConnection,
  grant,
  listingOf,
  newWorld,
  nothingDecided,
  publish,
  type World,
} from '../../../../tests/authority/world.ts'
import { decideApproval } from '../approval/decide-approval.ts'
import { publishCatalog } from '../catalog/publish-catalog.ts'
import { reviewCatalog } from '../catalog/review-catalog.ts'
import { withdrawCatalog } from '../catalog/withdraw-catalog.ts'
import { disableConnection } from '../connection/disable-connection.ts'
import { editConnection } from '../connection/edit-connection.ts'
import { enableConnection } from '../connection/enable-connection.ts'
import { removeConnection } from '../connection/remove-connection.ts'
import { disableUser } from '../user/disable-user.ts'
import { hashToken } from '../user/secret-token.ts'
import type { Actor } from '../user/user.ts'
import { createSession, type NewSession } from './create-session.ts'
import { endOverdueSessions } from './end-overdue-sessions.ts'
import { endSession } from './end-session.ts'
import type { Session } from './session.ts'

const world = async () => newWorld()
const idle = { settleSession: async () => {} }
const create = (w: World, actor: Actor, more: Partial<NewSession> = {}) =>
  createSession(w.deps, actor, { profile: 'p', isolation: 'external', ...more })

test('only those the profile names start sessions with it, whoever is to own them', async () => {
  const w = await world()
  await addProfile(w, 'p', { actors: ['role:approver'] })
  await expect(create(w, w.alice)).rejects.toMatchObject(code('not_allowed'))
  expect((await create(w, w.admin)).session.state).toBe('open')
  await addProfile(w, 'q', { actors: ['alice'] })
  expect((await create(w, w.alice, { profile: 'q' })).session.state).toBe('open')
  await expect(create(w, w.bob, { profile: 'q' })).rejects.toMatchObject(code('not_allowed'))
})

test('opens at once on the word of its creator, with what was granted bound and hashed', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, { token: 't' })
  await addProfile(w, 'p', { maxAgeSeconds: 120, idleSeconds: 60, verifyWithinSeconds: 0 })
  const limits = { resultBytes: 2048 }
  const [granted] = await grant(w, w.admin, 'p', connection, 'get_page', 'read', limits)
  const { session, bindings, secret } = await create(w, w.alice, { label: 'try' })
  expect(session).toMatchObject({
    state: 'open',
    ownerId: w.alice.userId,
    createdBy: w.alice.userId,
    evidence: { vouchedBy: w.alice.userId },
    label: 'try',
    unavailable: [],
    idleMs: 60_000,
  })
  expect(session.expiresAt - session.createdAt).toBe(120_000)
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(await w.store.sessions.byTokenHash(hashToken(secret))).toEqual(session)
  expect(await w.store.bindings.ofSession(session.id)).toEqual(bindings)
  expect(bindings).toHaveLength(1)
  expect(bindings[0]).toMatchObject({
    connectionName: 'docs',
    exposedName: 'get_page',
    connectionRevision: 1,
    credentialId: connection.credentialId,
    catalogId: connection.publishedId,
    grantId: granted?.id,
    grantDigest: granted?.digest,
    mode: 'read',
    access: 'read',
    limits: { callMs: 60_000, resultBytes: 2048, verifyWithinMs: 0 },
    hash: expect.stringMatching(/^sha256:/),
  })
})

test('only an administrator names another as owner', async () => {
  const w = await world()
  await addProfile(w, 'p')
  expect((await create(w, w.alice, { owner: 'alice' })).session.ownerId).toBe(w.alice.userId)
  await expect(create(w, w.alice, { owner: 'bob' })).rejects.toMatchObject(
    code('not_found', 'owner'),
  )
  const { session } = await create(w, w.admin, { owner: 'bob' })
  expect(session).toMatchObject({ ownerId: w.bob.userId, evidence: { vouchedBy: w.admin.userId } })
  await expect(create(w, w.admin, { owner: 'nobody' })).rejects.toMatchObject(
    code('not_found', 'owner'),
  )
})

test('the profile says which isolation and which harness it accepts', async () => {
  const w = await world()
  await addProfile(w, 'p', { harnesses: ['claude'] })
  await addProfile(w, 'boxed', { isolation: ['bubblewrap'] })
  await expect(create(w, w.alice)).rejects.toMatchObject(code('not_allowed', 'harness'))
  await create(w, w.alice, { harness: 'claude' })
  await expect(create(w, w.alice, { isolation: 'microvm' })).rejects.toMatchObject(
    code('isolation_refused'),
  )
  await expect(create(w, w.alice, { profile: 'boxed' })).rejects.toMatchObject(
    code('isolation_refused'),
  )
  await expect(
    create(w, w.alice, { profile: 'boxed', isolation: 'bubblewrap' }),
  ).rejects.toMatchObject(code('bad_request', 'sandbox'))
  await expect(create(w, w.alice, { profile: 'none' })).rejects.toMatchObject(code('not_found'))
})

test('what cannot be bound is listed with the reason, and stops nothing', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const add = async (name: string) => {
    const connection = await enabledConnection(w, w.admin, { name })
    await grant(w, w.admin, 'p', connection, 'get_page', 'read')
    return connection
  }
  const [off, gone, withdrawn, dropped, changed] = [
    await add('off'),
    await add('gone'),
    await add('withdrawn'),
    await add('dropped'),
    await add('changed'),
  ]
  await add('works')
  await disableConnection(w.deps, w.admin, off.id)
  await removeConnection(w.deps, w.admin, gone.id)
  await withdrawCatalog(w.deps, w.admin, withdrawn.id, 1)
  await publish(w, w.admin, dropped, listingOf('put_page'))
  const { id } = changed
  await publish(w, w.admin, { id }, listingOf('get_page', 'get_more'))
  const { session, bindings } = await create(w, w.alice)
  expect(bindings.map(({ connectionName }) => connectionName)).toEqual(['changed', 'works'])
  expect(
    session.unavailable.map(({ connection, tool, code: why }) => [connection, tool, why]),
  ).toEqual([
    ['dropped', 'get_page', 'tool_not_published'],
    ['gone', null, 'not_found'],
    ['off', null, 'connection_disabled'],
    ['withdrawn', null, 'not_published'],
  ])
  expect(session.unavailable[2]?.reason).toBe('The connection is disabled.')
})

test('a mode that no longer fits how the tool is reviewed is not bound', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const connection = await enabledConnection(w, w.admin, {}, listingOf('page'))
  await grant(w, w.admin, 'p', connection, 'page', 'write_unattended')

  await discover(w, w.admin, connection, listingOf('page'))
  await reviewCatalog(w.deps, w.admin, connection.id, { ...nothingDecided, read: ['page'] })
  await publishCatalog(w.deps, w.admin, connection.id)
  const { session } = await create(w, w.alice)
  expect(session.unavailable).toMatchObject([{ tool: 'page', code: 'mode_mismatch' }])
})

test('a tool whose name is too long under a new name of its connection is not bound', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const long = 'a'.repeat(50)
  const connection = await enabledConnection(w, w.admin, {}, listingOf(`get_${long}`, 'get_page'))
  await grant(w, w.admin, 'p', connection, '*', 'read')
  const name = 'documentation'
  await editConnection(w.deps, w.admin, connection.id, { name }, destinations)
  const { session, bindings } = await create(w, w.alice)
  expect(bindings.map(({ exposedName }) => exposedName)).toEqual(['get_page'])
  expect(session.unavailable).toMatchObject([{ tool: `get_${long}`, code: 'name_too_long' }])
})

test('in an unattended session nothing that needs approval is bound', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p', { interactive: false })
  await addProfile(w, 'interactive')
  for (const profile of ['p', 'interactive'])
    await grant(w, w.admin, profile, connection, 'put_page', 'write_with_approval')
  const { session, bindings } = await create(w, w.alice)
  expect(bindings).toEqual([])
  expect(session.unavailable).toMatchObject([{ tool: 'put_page', code: 'nobody_to_approve' }])
  expect((await create(w, w.alice, { profile: 'interactive' })).bindings).toHaveLength(1)
})

test('personal grants are bound in sessions of their owner only', async () => {
  const w = await world()
  const mine = await enabledConnection(w, w.alice, { name: 'mine', scope: 'personal' })
  await addProfile(w, 'p', { personal: 'read' })
  await grant(w, w.alice, 'p', mine, '*', 'read')
  expect((await create(w, w.alice)).bindings).toHaveLength(1)
  expect((await create(w, w.admin, { owner: 'alice' })).bindings).toHaveLength(1)
  const other = await create(w, w.bob)
  expect([other.bindings, other.session.unavailable]).toEqual([[], []])
})

test('a connection of the organization masks a personal one of its name', async () => {
  const w = await world()
  const mine = await enabledConnection(w, w.alice, { scope: 'personal' })
  await addProfile(w, 'p', { personal: 'read' })
  await grant(w, w.alice, 'p', mine, '*', 'read')
  const draft = await addConnection(w, w.admin)
  expect((await create(w, w.alice)).bindings).toHaveLength(1)
  await publish(w, w.admin, draft, listingOf('get_page'))

  await deny(w)
  await enableConnection(w.deps, w.admin, draft.id)
  const { session, bindings } = await create(w, w.alice)
  expect(bindings).toEqual([])
  expect(session.unavailable).toMatchObject([{ connection: 'docs', tool: null, code: 'masked' }])
})

test('a required connection that cannot be bound stops the start', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, { required: true })
  await addProfile(w, 'p')
  await grant(w, w.admin, 'p', connection, '*', 'read')
  await create(w, w.alice)
  await disableConnection(w.deps, w.admin, connection.id)
  await expect(create(w, w.alice)).rejects.toMatchObject(code('required_unavailable', 'docs'))
  expect(await w.store.sessions.list({ limit: 10 })).toHaveLength(1)
})

test('ending closes first, settles what is in flight, then ends; once', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const { session } = await create(w, w.alice)
  const seen: (string | undefined)[] = []
  const inFlight = {
    settleSession: async () => {
      seen.push((await w.store.sessions.get(session.id))?.state)
    },
  }
  const ended = await endSession(w.deps, inFlight, w.alice, session.id)
  expect(seen).toEqual(['closing'])
  expect(ended).toMatchObject({ state: 'ended', endReason: 'ended_by_user' })
  expect(ended.endedAt).not.toBeNull()
  expect(await endSession(w.deps, inFlight, w.alice, session.id)).toEqual(ended)
  expect(seen).toHaveLength(1)
})

test("another's session is not found; an administrator ends any", async () => {
  const w = await world()
  await addProfile(w, 'p')
  const { session } = await create(w, w.alice)
  await expect(endSession(w.deps, idle, w.bob, session.id)).rejects.toMatchObject(code('not_found'))
  await expect(endSession(w.deps, idle, w.admin, w.deps.ids('session'))).rejects.toMatchObject(
    code('not_found'),
  )
  expect((await endSession(w.deps, idle, w.admin, session.id)).state).toBe('ended')
})

test('the sweep ends what is too old or idle, and finishes what was left closing', async () => {
  const w = await world()
  await addProfile(w, 'p', { maxAgeSeconds: 3600, idleSeconds: 60 })
  await addProfile(w, 'q', { maxAgeSeconds: 60, idleSeconds: 3600 })
  const quiet = (await create(w, w.alice)).session
  const old = (await create(w, w.alice, { profile: 'q' })).session
  const left = (await create(w, w.alice, { profile: 'q' })).session
  const busy = { settleSession: () => Promise.reject(new Error('not now')) }
  await expect(endSession(w.deps, busy, w.alice, left.id)).rejects.toThrow('not now')
  const failed: unknown[] = []
  const sweep = (now: number, inFlight = idle) =>
    endOverdueSessions(w.deps, inFlight, now, (id) => failed.push(id))

  expect(await sweep(quiet.createdAt + 59_000)).toEqual([left.id])
  expect((await w.store.sessions.get(left.id))?.endReason).toBe('ended_by_user')
  await sweep(old.createdAt + 61_000, busy)
  expect(new Set(failed)).toEqual(new Set([quiet.id, old.id]))
  expect(new Set(await sweep(old.createdAt + 61_000))).toEqual(new Set([quiet.id, old.id]))
  expect((await w.store.sessions.get(quiet.id))?.endReason).toBe('idle')
  expect((await w.store.sessions.get(old.id))?.endReason).toBe('expired')
})

/** In a session of alice: pending, approved, dispatching; and one that waits in another session. */
async function waitingIn(w: World, session: Session) {
  const connection = await anyConnection(w, w.admin)
  const ask = (given: Partial<Asked['execution']> = {}, of: Session = session) =>
    askWrite(w, w.alice, connection, { session: of, execution: given })
  const approved = await ask({ caller: 'held_back', isModern: true })
  await decideApproval(w.deps, w.alice, approved.approval.id, { decision: 'approve' })
  return {
    pending: await ask(),
    approved,
    sent: await ask({ state: 'dispatching' }),
    elsewhere: await ask({}, (await create(w, w.alice)).session),
  }
}

async function expectRefused(w: World, asked: Awaited<ReturnType<typeof waitingIn>>) {
  for (const { approval, execution } of [asked.pending, asked.approved]) {
    const row = await w.store.executions.get(execution.id)
    expect(row).toMatchObject({ state: 'refused', code: 'session_not_open', caller: null })
    expect(await w.store.approvals.get(approval.id)).toMatchObject({
      state: 'cancelled',
      closedAt: row?.finishedAt,
    })
    expect((await eventsOf(w, execution.id)).at(-1)).toMatchObject({
      kind: 'refused',
      code: 'session_not_open',
    })
  }
  const { sent, elsewhere } = asked
  for (const { approval, execution } of [sent, elsewhere]) {
    expect(await w.store.executions.get(execution.id)).toEqual(execution)
    expect(await w.store.approvals.get(approval.id)).toEqual(approval)
  }
}

test('ending a session refuses at once what waits for a person, and leaves what was sent', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const { session } = await create(w, w.alice)
  const asked = await waitingIn(w, session)
  const announced = await announcedBy(w, async () => {
    const ended = await endSession(w.deps, idle, w.alice, session.id)
    expect(ended.state).toBe('closing')
  })
  expect(new Set(announced)).toEqual(new Set([asked.pending, asked.approved].map(executionId)))
  await expectRefused(w, asked)
})

test('a session that is too old takes with it what waits; one that waits is not idle', async () => {
  const w = await world()
  await addProfile(w, 'p', { maxAgeSeconds: 3600, idleSeconds: 60 })
  const { session } = await create(w, w.alice)
  const asked = await waitingIn(w, session)
  await endSession(w.deps, idle, w.alice, asked.elsewhere.session.id)
  const sweep = (now: number) => endOverdueSessions(w.deps, idle, now, () => expect.fail())
  await sweep(session.createdAt + 120_000)
  expect((await w.store.sessions.get(session.id))?.state).toBe('open')
  expect((await w.store.approvals.get(asked.pending.approval.id))?.state).toBe('pending')
  await sweep(session.createdAt + 3_600_000)
  expect((await w.store.sessions.get(session.id))?.state).toBe('closing')
  const row = await w.store.executions.get(asked.pending.execution.id)
  expect(row).toMatchObject({ state: 'refused', code: 'session_not_open' })
  expect((await w.store.approvals.get(asked.approved.approval.id))?.state).toBe('cancelled')
})

test('with a person go the calls that wait, in every session of theirs', async () => {
  const w = await world()
  await addProfile(w, 'p')
  const { session } = await create(w, w.alice)
  const asked = await waitingIn(w, session)
  const bobs = await askWrite(w, w.bob, await anyConnection(w, w.admin))
  await disableUser(w.deps, idle, w.admin, 'alice')
  for (const { approval } of [asked.pending, asked.approved, asked.elsewhere])
    expect((await w.store.approvals.get(approval.id))?.state).toBe('cancelled')
  expect((await w.store.executions.get(asked.sent.execution.id))?.state).toBe('dispatching')
  expect((await w.store.approvals.get(bobs.approval.id))?.state).toBe('pending')
})

test('a session continues one that has ended, of the same owner and profile, and is one with it', async () => {
  const w = await world()
  await addProfile(w, 'p')
  await addProfile(w, 'q')
  const { session: first } = await create(w, w.alice)
  const continues = first.id
  expect(first).toMatchObject({ chainId: first.id, continues: null })
  await expect(create(w, w.alice, { continues })).rejects.toMatchObject(
    code('session_not_ended', 'continues'),
  )
  await endSession(w.deps, idle, w.alice, first.id)
  const { session: second } = await create(w, w.alice, { continues })
  expect(second).toMatchObject({ chainId: first.id, continues: first.id })
  await endSession(w.deps, idle, w.alice, second.id)
  const { session: third } = await create(w, w.alice, { continues: second.id })
  expect(third).toMatchObject({ chainId: first.id, continues: second.id })
  for (const [actor, profile] of [
    [w.bob, 'p'],
    [w.alice, 'q'],
  ] as const)
    await expect(create(w, actor, { continues, profile })).rejects.toMatchObject(
      code('not_found', 'continues'),
    )
})

function executionId({ execution }: Asked) {
  return execution.id
}
