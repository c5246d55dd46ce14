import { expect, test } from 'vitest'
import {
  addConnection,
  addProfile,
  code,
  enabledConnection,
  grant,
  newWorld,
} from '../../../../tests/authority/world.ts'
import { createSession } from '../session/create-session.ts'
import { authenticate } from './authenticate.ts'
import { createToken } from './create-token.ts'
import { createUser } from './create-user.ts'
import { disableUser } from './disable-user.ts'
import { revokeToken } from './revoke-token.ts'

const world = async () => newWorld()
const idle = { settleSession: async () => {} }

test('an administrator adds people; the name is theirs alone', async () => {
  const { deps, admin, store } = await world()
  const eve = await createUser(deps, admin, { name: 'eve', role: 'approver' })
  expect(await store.users.byName('eve')).toEqual(eve)
  expect(eve).toMatchObject({ name: 'eve', role: 'approver', disabledAt: null })
  await expect(createUser(deps, admin, { name: 'eve', role: 'member' })).rejects.toMatchObject(
    code('name_taken'),
  )
})

test('members add nobody', async () => {
  const { deps, alice } = await world()
  await expect(createUser(deps, alice, { name: 'eve', role: 'admin' })).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test('the role of the row counts, not the role the request was let in with', async () => {
  const { deps, alice } = await world()
  const former = { ...alice, role: 'admin' } as const
  await expect(createUser(deps, former, { name: 'eve', role: 'member' })).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test('a token is 43 characters whose hash alone is kept, and it authenticates', async () => {
  const { deps, admin, alice, store } = await world()
  const { token, secret } = await createToken(deps, alice, { user: 'alice', label: 'laptop' })
  expect(secret).toMatch(/^[\w-]{43}$/)
  expect(JSON.stringify(await store.users.tokens())).not.toContain(secret)
  expect(await authenticate(store, secret, Date.now())).toMatchObject({
    actor: alice,
    token: { id: token.id },
  })
  expect(await authenticate(store, `${secret}x`, Date.now())).toBeUndefined()
  const forBob = await createToken(deps, admin, { user: 'bob' })
  expect((await authenticate(store, forBob.secret, Date.now()))?.user.name).toBe('bob')
})

test('a token ends at its time, and when it is revoked', async () => {
  const { deps, alice, store } = await world()
  const { token, secret } = await createToken(deps, alice, { user: 'alice', expiresDays: 1 })
  const end = token.createdAt + 86_400_000
  expect(await authenticate(store, secret, end - 1)).toBeDefined()
  expect(await authenticate(store, secret, end)).toBeUndefined()
  await revokeToken(deps, alice, token.id)
  expect(await authenticate(store, secret, end - 1)).toBeUndefined()
})

test("another's tokens are not found, by name or by id", async () => {
  const { deps, admin, alice, bob } = await world()
  for (const user of ['bob', 'nobody'])
    await expect(createToken(deps, alice, { user })).rejects.toMatchObject(code('not_found'))
  const { token } = await createToken(deps, bob, { user: 'bob' })
  await expect(revokeToken(deps, alice, token.id)).rejects.toMatchObject(code('not_found'))
  expect((await revokeToken(deps, admin, token.id)).revokedAt).not.toBeNull()
  expect((await revokeToken(deps, bob, token.id)).revokedAt).not.toBeNull()
})

test('a disabled person has no token, no session, and does nothing more', async () => {
  const w = await world()
  const { deps, admin, alice, store } = w
  const connection = await enabledConnection(w, admin)
  await addProfile(w, 'reader')
  await grant(w, admin, 'reader', connection, 'get_*', 'read')
  const { session } = await createSession(deps, alice, { profile: 'reader', isolation: 'external' })
  const { secret } = await createToken(deps, alice, { user: 'alice' })

  const disabled = await disableUser(deps, idle, admin, 'alice')
  expect(disabled.disabledAt).not.toBeNull()
  expect(await authenticate(store, secret, Date.now())).toBeUndefined()
  expect(await store.sessions.get(session.id)).toMatchObject({
    state: 'ended',
    endReason: 'user_disabled',
  })
  await expect(addConnection(w, alice, { scope: 'personal' })).rejects.toMatchObject(
    code('not_allowed'),
  )
  await expect(createToken(deps, admin, { user: 'alice' })).rejects.toMatchObject(code('not_found'))
})

test('a session whose calls cannot be settled now stays closing; the person is disabled all the same', async () => {
  const w = await world()
  await addProfile(w, 'empty')
  const { session } = await createSession(w.deps, w.alice, {
    profile: 'empty',
    isolation: 'external',
  })
  const busy = { settleSession: () => Promise.reject(new Error('not now')) }
  await disableUser(w.deps, busy, w.admin, 'alice')
  expect((await w.store.sessions.get(session.id))?.state).toBe('closing')
  await disableUser(w.deps, idle, w.admin, 'alice')
  expect((await w.store.sessions.get(session.id))?.state).toBe('ended')
})

test('nobody disables oneself, so an administrator remains', async () => {
  const { deps, admin, alice } = await world()
  await expect(disableUser(deps, idle, admin, 'admin')).rejects.toMatchObject(code('not_allowed'))
  await expect(disableUser(deps, idle, alice, 'bob')).rejects.toMatchObject(code('not_allowed'))
  await expect(disableUser(deps, idle, admin, 'nobody')).rejects.toMatchObject(code('not_found'))
})
