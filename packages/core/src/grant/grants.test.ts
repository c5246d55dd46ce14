import { expect, test } from 'vitest'
import {
  addConnection,
  addProfile,
  code,
  enabledConnection,
  grant,
  listingOf,
  newWorld,
  publish,
  type World,
} from '../../../../tests/authority/world.ts'
import { disableConnection } from '../connection/disable-connection.ts'
import { removeConnection } from '../connection/remove-connection.ts'
import type { Actor } from '../user/user.ts'
import { grantTools } from './grant-tools.ts'
import { revokeGrants } from './revoke-grants.ts'

const world = async () => newWorld()
const revoke = (w: World, actor: Actor, connection: string, tools: string) =>
  revokeGrants(w.deps, actor, { profile: 'p', connection, tools })
const standing = async (
  w: World,
  profileId: Parameters<World['store']['grants']['ofProfile']>[0],
) => (await w.store.grants.ofProfile(profileId)).map(({ tool, mode }) => `${tool} ${mode}`)

test('a pattern is expanded once, over included tools that the mode fits', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  const profile = await addProfile(w, 'p')
  expect((await grant(w, w.admin, 'p', connection, '*', 'read')).map(({ tool }) => tool)).toEqual([
    'get_page',
  ])
  await grant(w, w.admin, 'p', connection, '*', 'write_unattended')
  await publish(w, w.admin, connection, listingOf('get_page', 'get_more', 'put_page'))
  expect(await standing(w, profile.id)).toEqual(['get_page read', 'put_page write_unattended'])
})

test.each([
  ['get_page', 'write_unattended'],
  ['get_page', 'write_with_approval'],
  ['put_page', 'read'],
] as const)('mode of %s: not %s', async (tool, mode) => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  await expect(grant(w, w.admin, 'p', connection, tool, mode)).rejects.toMatchObject(
    code('mode_mismatch', 'mode'),
  )
})

test('grants nothing that is excluded, unknown or not published', async () => {
  const w = await world()
  const draft = await addConnection(w, w.admin, { name: 'draft' })
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  await expect(grant(w, w.admin, 'p', draft, '*', 'read')).rejects.toMatchObject(
    code('not_published'),
  )
  await expect(grant(w, w.admin, 'p', connection, 'gett_*', 'read')).rejects.toMatchObject(
    code('no_such_tool', 'tools'),
  )
  await expect(grant(w, w.admin, 'other', connection, '*', 'read')).rejects.toMatchObject(
    code('not_found', 'profile'),
  )
})

test('a grant for the same tool gives way; its digest is over what it permits', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  const profile = await addProfile(w, 'p')
  const [first] = await grant(w, w.admin, 'p', connection, 'get_page', 'read')
  const limits = { rate: { count: 1, seconds: 60 } }
  const [second] = await grant(w, w.admin, 'p', connection, 'get_page', 'read', limits)
  const [third] = await grant(w, w.admin, 'p', connection, 'get_page', 'read')
  expect(second?.digest).not.toBe(first?.digest)
  expect(third?.digest).toBe(first?.digest)
  expect(third?.id).not.toBe(first?.id)
  expect(await w.store.grants.ofProfile(profile.id)).toEqual([third])
  expect((await w.store.grants.get(first?.id as never))?.revokedAt).not.toBeNull()
})

test('an overlay must be strict and fixed arguments must fit, before anything is written', async () => {
  const w = await world()
  const inputSchema = { type: 'object', properties: { space: { type: 'string' } } }
  const connection = await enabledConnection(
    w,
    w.admin,
    {},
    listingOf({ name: 'get_page', inputSchema }),
  )
  const profile = await addProfile(w, 'p')
  const attempt = (limits: Parameters<typeof grant>[6]) =>
    grant(w, w.admin, 'p', connection, '*', 'read', limits)
  await expect(attempt({ schema: { propertis: {} } })).rejects.toMatchObject(
    code('bad_schema', 'limits/schema/propertis'),
  )
  await expect(attempt({ fixed: { space: 7 } })).rejects.toMatchObject(
    code('fixed_argument', 'limits/fixed/space'),
  )
  expect(await standing(w, profile.id)).toEqual([])
  await attempt({ schema: { properties: { space: { enum: ['a'] } } }, fixed: { space: 'a' } })
  expect(await standing(w, profile.id)).toEqual(['get_page read'])
})

test('unattended writes need a word of their own', async () => {
  const w = await world()
  const { id: connection } = await enabledConnection(w, w.admin)
  const profile = await addProfile(w, 'p')
  const ask = {
    profile: 'p',
    connection,
    tools: '*',
    mode: 'write_unattended',
    limits: {},
  } as const
  for (const confirmUnattended of [undefined, false])
    await expect(grantTools(w.deps, w.admin, { ...ask, confirmUnattended })).rejects.toMatchObject(
      code('not_confirmed', 'confirmUnattended'),
    )
  await expect(
    grantTools(w.deps, w.alice, { ...ask, confirmUnattended: true }),
  ).rejects.toMatchObject(code('not_allowed'))
  await grantTools(w.deps, w.admin, { ...ask, mode: 'write_with_approval' })
  expect(await standing(w, profile.id)).toEqual(['put_page write_with_approval'])
  await grantTools(w.deps, w.admin, { ...ask, confirmUnattended: true })
  expect(await standing(w, profile.id)).toEqual(['put_page write_unattended'])
})

test('whoever is left after the requester was excluded must be able to approve', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  const attempt = (limits: Parameters<typeof grant>[6]) =>
    grant(w, w.admin, 'p', connection, 'put_page', 'write_with_approval', limits)
  for (const limits of [{ excludeRequester: true }, { excludeRequester: true, approvers: 'owner' }])
    await expect(attempt(limits)).rejects.toMatchObject(
      code('bad_request', 'limits/excludeRequester'),
    )
  for (const approvers of ['two', 'role:approver', 'role:admin'])
    await attempt({ excludeRequester: true, approvers })
  await attempt({ excludeRequester: false })
})

test('writes on a personal connection are approved by its owner alone', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.alice, { scope: 'personal' })
  await addProfile(w, 'p', { personal: 'write_with_approval' })
  const attempt = (limits: Parameters<typeof grant>[6]) =>
    grant(w, w.alice, 'p', connection, 'put_page', 'write_with_approval', limits)
  for (const approvers of ['two', 'role:member', 'role:admin'])
    await expect(attempt({ approvers })).rejects.toMatchObject(
      code('bad_request', 'limits/approvers'),
    )
  await expect(attempt({ excludeRequester: true })).rejects.toMatchObject(
    code('bad_request', 'limits/excludeRequester'),
  )
  await attempt({})
  await attempt({ approvers: 'owner' })
})

test('every limit is part of the digest', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  const digests = []
  for (const limits of [
    {},
    { approvers: 'two' },
    { approvers: 'two', excludeRequester: true },
    { identicalOnly: true },
  ])
    digests.push(
      (await grant(w, w.admin, 'p', connection, '*', 'write_with_approval', limits))[0]?.digest,
    )
  expect(new Set(digests).size).toBe(4)
})

test('members grant nothing of the organization', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  await expect(grant(w, w.alice, 'p', connection, '*', 'read')).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test.each([
  ['none', 'read', false],
  ['none', 'write_with_approval', false],
  ['read', 'read', true],
  ['read', 'write_with_approval', false],
  ['write_with_approval', 'read', true],
  ['write_with_approval', 'write_with_approval', true],
  ['write_with_approval', 'write_unattended', false],
] as const)('personal %s: may the owner grant %s? %s', async (personal, mode, may) => {
  const w = await world()
  const connection = await enabledConnection(w, w.alice, { scope: 'personal' })
  await addProfile(w, 'p', { personal })
  const attempt = grant(w, w.alice, 'p', connection, '*', mode)
  if (may) expect((await attempt)[0]?.ownerId).toBe(w.alice.userId)
  else await expect(attempt).rejects.toMatchObject(code('not_allowed', 'mode'))
  await expect(grant(w, w.bob, 'p', connection, '*', mode)).rejects.toMatchObject(code('not_found'))
  await expect(grant(w, w.admin, 'p', connection, '*', mode)).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test('revoking takes what the pattern matches, also of a removed connection', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin, {}, listingOf('get_a', 'get_b', 'put_c'))
  const profile = await addProfile(w, 'p')
  await grant(w, w.admin, 'p', connection, '*', 'read')
  await grant(w, w.admin, 'p', connection, '*', 'write_unattended')
  await disableConnection(w.deps, w.admin, connection.id)
  expect((await revoke(w, w.admin, 'docs', 'get_a')).map(({ tool }) => tool)).toEqual(['get_a'])
  await removeConnection(w.deps, w.admin, connection.id)
  await expect(revoke(w, w.admin, 'docs', 'get_a')).rejects.toMatchObject(code('no_such_tool'))
  expect((await revoke(w, w.admin, connection.id, '*')).map(({ tool }) => tool)).toEqual([
    'get_b',
    'put_c',
  ])
  expect(await standing(w, profile.id)).toEqual([])
})

test('members take back their own grants only', async () => {
  const w = await world()
  const org = await enabledConnection(w, w.admin)
  const mine = await enabledConnection(w, w.alice, { name: 'mine', scope: 'personal' })
  await addProfile(w, 'p', { personal: 'read' })
  await grant(w, w.admin, 'p', org, '*', 'read')
  await grant(w, w.alice, 'p', mine, '*', 'read')
  await expect(revoke(w, w.alice, 'docs', '*')).rejects.toMatchObject(code('not_allowed'))
  await expect(revoke(w, w.bob, 'mine', '*')).rejects.toMatchObject(code('no_such_tool'))
  expect(await revoke(w, w.alice, 'mine', '*')).toHaveLength(1)
})
