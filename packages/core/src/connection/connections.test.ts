import { expect, test } from 'vitest'
import {
  addConnection,
  code,
  deny,
  destinations,
  discover,
  enabledConnection,
  listingOf,
  newWorld,
  publish,
  sealedAgain,
  type World,
} from '../../../../tests/authority/world.ts'
import type { Actor } from '../user/user.ts'
import type { Connection } from './connection.ts'
import { findConnection } from './connection-access.ts'
import { createConnection } from './create-connection.ts'
import { disableConnection } from './disable-connection.ts'
import { editConnection } from './edit-connection.ts'
import { enableConnection } from './enable-connection.ts'
import { recordHealth } from './record-health.ts'
import { removeConnection } from './remove-connection.ts'

const world = async () => newWorld()
const edit = ({ deps }: World, actor: Actor, { id }: Connection, change: object) =>
  editConnection(deps, actor, id, change, destinations)

test('a new connection is a draft of revision 1 and holds seals only', async () => {
  const w = await world()
  const secrets = { url: 'https://docs.example.com/mcp?key=s3cret', token: 't0ken' }
  const connection = await addConnection(w, w.admin, secrets)
  expect(connection).toMatchObject({
    state: 'draft',
    revision: 1,
    version: 1,
    everEnabled: false,
    endpointClear: { scheme: 'https', host: 'docs.example.com', port: 443 },
  })
  const credential = await w.store.credentials.get(connection.credentialId as never)
  expect(credential).toMatchObject({ version: 1, state: 'active', clear: { bearer: true } })
  const kept = JSON.stringify([await w.store.connections.get(connection.id), credential])
  for (const secret of ['s3cret', 't0ken']) expect(kept).not.toContain(secret)
})

test.each([
  ['admin', 'org', true],
  ['admin', 'project:web', true],
  ['admin', 'personal', true],
  ['alice', 'org', false],
  ['alice', 'project:web', false],
  ['alice', 'personal', true],
] as const)('may %s add one in %s: %s', async (who, scope, may) => {
  const w = await world()
  const attempt = addConnection(w, w[who], { scope })
  if (may) expect((await attempt).scope).toMatch(scope === 'personal' ? /^personal:usr_/ : scope)
  else await expect(attempt).rejects.toMatchObject(code('not_allowed'))
})

test.each(['stdio', 'person'] as const)(
  'transport %s is not for members and not yet for administrators',
  async (transport) => {
    const w = await world()
    const add = (actor: Actor) =>
      createConnection(
        w.deps,
        actor,
        { name: 'tool', scope: 'personal', transport, required: false, limits: {} },
        destinations,
      )
    await expect(add(w.alice)).rejects.toMatchObject(code('not_allowed'))
    await expect(add(w.admin)).rejects.toMatchObject(code('transport_not_available'))
  },
)

test('refuses names that break the rule, are reserved or taken in the scope; other scopes are apart', async () => {
  const w = await world()
  for (const name of ['', 'Docs', 'a_b', '-a', 'a-', 'sallyport', 'mcp', 'x'.repeat(33)])
    await expect(addConnection(w, w.admin, { name }), name).rejects.toMatchObject(
      code('bad_name', 'name'),
    )
  await addConnection(w, w.admin)
  await expect(addConnection(w, w.admin)).rejects.toMatchObject(code('name_taken', 'name'))
  for (const actor of [w.alice, w.bob]) await addConnection(w, actor, { scope: 'personal' })
})

test('a scope holds 25; removed ones do not count', async () => {
  const w = await world()
  const all: Connection[] = []
  for (let n = 0; n < 25; n++) all.push(await addConnection(w, w.admin, { name: `c${n}` }))
  await expect(addConnection(w, w.admin, { name: 'more' })).rejects.toMatchObject(
    code('connection_limit'),
  )
  await addConnection(w, w.admin, { name: 'more', scope: 'project:web' })
  await removeConnection(w.deps, w.admin, (all[0] as Connection).id)
  await addConnection(w, w.admin, { name: 'more' })
})

test('a refused connection leaves no row', async () => {
  const w = await world()
  await expect(
    addConnection(w, w.admin, { url: 'http://127.0.0.1:7400/mcp' }),
  ).rejects.toMatchObject(code('bad_url'))
  expect(await w.store.connections.list()).toEqual([])
})

test("another's personal connection is not found; an administrator sees it and does not manage it", async () => {
  const w = await world()
  const mine = await addConnection(w, w.alice, { scope: 'personal' })
  await expect(findConnection(w.store, w.bob, 'docs')).rejects.toMatchObject(code('not_found'))
  await expect(findConnection(w.store, w.bob, mine.id)).rejects.toMatchObject(code('not_found'))
  expect((await findConnection(w.store, w.admin, 'docs')).id).toBe(mine.id)
  for (const verb of [enableConnection, disableConnection, removeConnection]) {
    await expect(verb(w.deps, w.bob, mine.id)).rejects.toMatchObject(code('not_found'))
    await expect(verb(w.deps, w.admin, mine.id)).rejects.toMatchObject(code('not_allowed'))
  }
  await expect(edit(w, w.bob, mine, { name: 'x' })).rejects.toMatchObject(code('not_found'))
  await expect(edit(w, w.admin, mine, { name: 'x' })).rejects.toMatchObject(code('not_allowed'))
  expect(await edit(w, w.alice, mine, { name: 'x' })).toMatchObject({ name: 'x' })
})

test('a name that several have must be said by id; what one may use goes first', async () => {
  const w = await world()
  const org = await addConnection(w, w.admin)
  await addConnection(w, w.alice, { scope: 'personal' })
  expect((await findConnection(w.store, w.admin, 'docs')).id).toBe(org.id)
  expect((await findConnection(w.store, w.bob, 'docs')).id).toBe(org.id)
  await expect(findConnection(w.store, w.alice, 'docs')).rejects.toMatchObject(
    code('ambiguous_name'),
  )
  expect((await findConnection(w.store, w.alice, org.id)).id).toBe(org.id)
})

test('enabling needs a published catalog of this revision', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const enable = () => enableConnection(w.deps, w.admin, connection.id)
  await expect(enable()).rejects.toMatchObject(code('not_published'))
  await discover(w, w.admin, connection, listingOf('get_page'))
  await expect(enable()).rejects.toMatchObject(code('not_published'))
  await publish(w, w.admin, connection, listingOf('get_page'))
  await expect(enable()).rejects.toMatchObject(code('deny_set_pending'))
  await deny(w)
  const enabled = await enable()
  expect(enabled).toMatchObject({ state: 'enabled', everEnabled: true })
  expect(await enable()).toEqual(enabled)
})

test('a plain edit keeps state and revision, and raises the version', async () => {
  const w = await world()
  const before = await enabledConnection(w, w.admin)
  const after = await edit(w, w.admin, before, {
    name: 'pages',
    required: true,
    limits: { callMs: 500 },
  })
  expect(after).toEqual({
    ...before,
    name: 'pages',
    required: true,
    limits: { ...before.limits, callMs: 500 },
    version: before.version + 1,
    updatedAt: after.updatedAt,
  })
})

test('an edit that was made from an older version is a conflict', async () => {
  const w = await world()
  const before = await addConnection(w, w.admin)
  await edit(w, w.admin, before, { version: before.version, name: 'one' })
  await expect(
    edit(w, w.admin, before, { version: before.version, name: 'two' }),
  ).rejects.toMatchObject(code('conflict'))
})

test('another endpoint disables, raises the revision and drops the published catalog', async () => {
  const w = await world()
  const before = await enabledConnection(w, w.admin)
  const draft = await discover(w, w.admin, before, listingOf('get_page'))
  const url = 'https://other.example.com/mcp'
  const { endpoint } = await sealedAgain(w, before.id, { url })
  const after = await edit(w, w.admin, before, { endpoint })
  expect(after).toMatchObject({
    state: 'disabled',
    revision: 2,
    publishedId: null,
    endpointClear: { host: 'other.example.com' },
    health: { state: 'unknown' },
  })
  const catalogs = await w.store.catalogs.ofConnection(before.id)
  expect(catalogs.map(({ state }) => state)).toEqual(['discarded', 'superseded'])
  expect(catalogs[0]?.id).toBe(draft.id)
  await expect(enableConnection(w.deps, w.admin, before.id)).rejects.toMatchObject(
    code('not_published'),
  )
})

test('another endpoint needs the credential again, whose seal names the destination', async () => {
  const w = await world()
  const before = await addConnection(w, w.admin, { token: 'one' })
  const secrets = { url: 'https://other.example.com/mcp', token: 'two' }
  const { endpoint, credential } = await sealedAgain(w, before.id, secrets)
  await expect(edit(w, w.admin, before, { endpoint })).rejects.toMatchObject(
    code('credential_missing', 'credential'),
  )
  expect(await edit(w, w.admin, before, { endpoint, credential })).toMatchObject({ revision: 2 })
  const other = await sealedAgain(w, before.id, { url: secrets.url })
  const dropped = await edit(w, w.admin, before, { endpoint: other.endpoint, credential: null })
  expect(dropped).toMatchObject({ revision: 3, credentialId: null })
})

test('an endpoint sealed for an older revision is a conflict', async () => {
  const w = await world()
  const before = await addConnection(w, w.admin)
  const { endpoint } = await sealedAgain(w, before.id, { url: 'https://a.example.com/' })
  await edit(w, w.admin, before, { endpoint })
  await expect(edit(w, w.admin, before, { endpoint })).rejects.toMatchObject(code('conflict'))
})

test('a new secret under the same id is the next version and keeps state, revision and id', async () => {
  const w = await world()
  const before = await enabledConnection(w, w.admin, { token: 'one' })
  const { credential } = await sealedAgain(w, before.id, { token: 'two' })
  const after = await edit(w, w.admin, before, { credential })
  expect(after).toMatchObject({ state: 'enabled', revision: 1, credentialId: before.credentialId })
  const kept = await w.store.credentials.get(before.credentialId as never)
  expect(kept).toMatchObject({ version: 2, state: 'active', seal: credential?.seal })
  await expect(edit(w, w.admin, before, { credential })).rejects.toMatchObject(code('conflict'))
})

test('a secret under another id replaces the credential, and the old seal is gone', async () => {
  const w = await world()
  const before = await enabledConnection(w, w.admin, { token: 'one' })
  const id = w.deps.ids('credential')
  const { credential } = await sealedAgain(w, before.id, { token: 'two' }, id)
  const after = await edit(w, w.admin, before, { credential })
  expect(after.credentialId).toBe(id)
  const old = await w.store.credentials.get(before.credentialId as never)
  expect(old).toMatchObject({ state: 'revoked', seal: '', version: 2 })
})

test('a seal of another connection is refused', async () => {
  const w = await world()
  const one = await addConnection(w, w.admin, { name: 'one', token: 't' })
  const two = await addConnection(w, w.admin, { name: 'two', token: 't' })
  const { endpoint, credential } = await sealedAgain(w, one.id, { token: 'x' })
  await expect(edit(w, w.admin, two, { endpoint, credential })).rejects.toMatchObject(
    code('seal_other_row'),
  )
  await expect(edit(w, w.admin, two, { credential })).rejects.toMatchObject(code('conflict'))
})

test('removing frees the name and lets go of the secrets', async () => {
  const w = await world()
  const before = await enabledConnection(w, w.admin, { token: 'one' })
  const removed = await removeConnection(w.deps, w.admin, before.id)
  expect(removed).toMatchObject({ state: 'deleted', endpointSeal: null })
  expect(await w.store.credentials.get(before.credentialId as never)).toMatchObject({
    state: 'revoked',
    seal: '',
  })
  await expect(findConnection(w.store, w.admin, before.id)).rejects.toMatchObject(code('not_found'))
  await expect(disableConnection(w.deps, w.admin, before.id)).rejects.toMatchObject(
    code('not_found'),
  )
  await addConnection(w, w.admin)
})

test('health is noted for the revision it was seen at, and for upstream failures only', async () => {
  const w = await world()
  const { id } = await addConnection(w, w.admin)
  const health = async (code: Parameters<typeof recordHealth>[1]['code'], revision = 1) => {
    await recordHealth(w.store, { id, revision, code })
    return (await w.store.connections.get(id))?.health.state
  }
  expect(await health('worker_down')).toBe('unknown')
  expect(await health('upstream_dns', 2)).toBe('unknown')
  expect(await health('upstream_dns')).toBe('unreachable')
  expect(await health('upstream_http_401')).toBe('unauthorized')
  for (const code of ['seal_unreadable', 'seal_key_retired', 'seal_other_row'] as const)
    expect(await health(code)).toBe('seal')
  expect(await health(null)).toBe('ok')
})
