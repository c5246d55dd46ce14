import { expect, test } from 'vitest'
import {
  addConnection,
  code,
  destinations,
  discover,
  enabledConnection,
  listingOf,
  newWorld,
  nothingDecided,
  publish,
  sealedAgain,
  type World,
} from '../../../../tests/authority/world.ts'
import type { Connection } from '../connection/connection.ts'
import { editConnection } from '../connection/edit-connection.ts'
import type { Actor } from '../user/user.ts'
import { publishCatalog } from './publish-catalog.ts'
import { reviewCatalog } from './review-catalog.ts'
import { saveDiscovery } from './save-discovery.ts'
import { withdrawCatalog } from './withdraw-catalog.ts'

const world = async () => newWorld()
const review = (w: World, { id }: Connection, decisions: object, actor: Actor = w.admin) =>
  reviewCatalog(w.deps, actor, id, { ...nothingDecided, ...decisions })
const toolsOf = async (w: World, id: Parameters<World['store']['catalogs']['tools']>[0]) =>
  Object.fromEntries((await w.store.catalogs.tools(id)).map((tool) => [tool.name, tool]))

test('a discovered tool is a write and excluded until somebody says otherwise', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const listing = listingOf('get_page', 'put_page')
  const catalog = await discover(w, w.admin, connection, listing)
  expect(catalog).toMatchObject({
    state: 'discovered',
    number: null,
    connectionRevision: 1,
    digest: listing.digest,
  })
  const tools = await toolsOf(w, catalog.id)
  expect(tools['get_page']).toMatchObject({ access: 'write', decision: 'exclude' })
  expect((await w.store.connections.get(connection.id))?.state).toBe('ready')
  expect(await w.store.connections.observation(connection.id)).toMatchObject({
    digest: listing.digest,
    connectionRevision: 1,
  })
})

test('a new listing discards the older draft', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const first = await discover(w, w.admin, connection, listingOf('a'))
  await review(w, connection, { include: ['a'] })
  await discover(w, w.admin, connection, listingOf('a', 'b'))
  expect((await w.store.catalogs.get(first.id))?.state).toBe('discarded')
})

test('a listing that was asked of what the connection no longer is, is a conflict', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin, { token: 'one' })
  const asked = {
    connectionId: connection.id,
    connectionRevision: 1,
    credentialId: connection.credentialId,
    credentialVersion: 1,
  }
  const save = () => saveDiscovery(w.deps, w.admin, asked, listingOf('a'))
  await save()
  const { credential } = await sealedAgain(w, connection.id, { token: 'two' })
  await editConnection(w.deps, w.admin, connection.id, { credential }, destinations)
  await expect(save()).rejects.toMatchObject(code('conflict'))
  await expect(
    saveDiscovery(
      w.deps,
      w.admin,
      { ...asked, credentialVersion: 2, connectionRevision: 2 },
      listingOf('a'),
    ),
  ).rejects.toMatchObject(code('conflict'))
})

test('what was decided about an unchanged tool is carried over, about a changed one not', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  await discover(w, w.admin, connection, listingOf('get_page', 'put_page'))
  await review(w, connection, { include: ['*'], read: ['get_*'], notes: { get_page: 'fine' } })
  await publishCatalog(w.deps, w.admin, connection.id)
  const changed = { name: 'put_page', description: 'now deletes too' }
  const draft = await discover(w, w.admin, connection, listingOf('get_page', changed, 'new_tool'))
  const tools = await toolsOf(w, draft.id)
  expect(tools['get_page']).toMatchObject({ access: 'read', decision: 'include', note: 'fine' })
  expect(tools['put_page']).toMatchObject({ access: 'write', decision: 'exclude', note: null })
  expect(tools['new_tool']).toMatchObject({ access: 'write', decision: 'exclude' })
})

test('exclude goes before include, write before read', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  await discover(w, w.admin, connection, listingOf('get_page', 'get_secret', 'put_page'))
  const draft = await review(w, connection, {
    include: ['*'],
    exclude: ['*secret'],
    read: ['*'],
    write: ['put_?age'],
  })
  expect(draft).toMatchObject({ state: 'in_review', reviewedBy: w.admin.userId })
  const tools = await toolsOf(w, draft.id)
  expect(tools['get_page']).toMatchObject({ access: 'read', decision: 'include' })
  expect(tools['get_secret']).toMatchObject({ access: 'read', decision: 'exclude' })
  expect(tools['put_page']).toMatchObject({ access: 'write', decision: 'include' })
})

test('a pattern that matches nothing is refused with its place', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  await discover(w, w.admin, connection, listingOf('get_page'))
  await expect(review(w, connection, { include: ['get_page', 'gett_*'] })).rejects.toMatchObject(
    code('no_such_tool', 'include/1'),
  )
  await expect(review(w, connection, { notes: { other: 'x' } })).rejects.toMatchObject(
    code('no_such_tool', 'notes/other'),
  )
})

test('a tool whose schema cannot be enforced cannot be included', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const remote = { $ref: 'https://example.com/schema.json' }
  const bad = { name: 'bad', inputSchema: { type: 'object', properties: { a: remote } } }
  await discover(w, w.admin, connection, listingOf('good', bad))
  await expect(review(w, connection, { include: ['*'] })).rejects.toMatchObject(
    code('bad_schema', 'tools/bad'),
  )
  await review(w, connection, { include: ['*'], exclude: ['bad'] })
})

test('a review made from an older version is a conflict', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const draft = await discover(w, w.admin, connection, listingOf('a'))
  await review(w, connection, { version: draft.version, include: ['a'] })
  await expect(review(w, connection, { version: draft.version })).rejects.toMatchObject(
    code('conflict'),
  )
})

test('publishing numbers the revision and supersedes the one before', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const first = await publish(w, w.admin, connection, listingOf('a'))
  expect(first).toMatchObject({ state: 'published', number: 1, publishedBy: w.admin.userId })
  const second = await publish(w, w.admin, connection, listingOf('a', 'b'))
  expect(second.number).toBe(2)
  expect((await w.store.catalogs.get(first.id))?.state).toBe('superseded')
  expect((await w.store.connections.get(connection.id))?.publishedId).toBe(second.id)
})

test('nothing is published without a review, or when the review includes nothing', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  const publishIt = () => publishCatalog(w.deps, w.admin, connection.id)
  await expect(publishIt()).rejects.toMatchObject(code('nothing_to_publish'))
  await discover(w, w.admin, connection, listingOf('a'))
  await expect(publishIt()).rejects.toMatchObject(code('nothing_to_publish'))
  await review(w, connection, { exclude: ['a'] })
  await expect(publishIt()).rejects.toMatchObject(code('nothing_to_publish'))
  await review(w, connection, { include: ['a'] })
  await publishIt()
})

test('a published revision is never decided about again', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  await publish(w, w.admin, connection, listingOf('a'))
  await expect(review(w, connection, { exclude: ['a'] })).rejects.toMatchObject(
    code('nothing_to_publish'),
  )
})

test('a former administrator publishes nothing', async () => {
  const w = await world()
  const connection = await addConnection(w, w.admin)
  await discover(w, w.admin, connection, listingOf('a'))
  await review(w, connection, { include: ['a'] })
  const former = { ...w.alice, role: 'admin' } as const
  await expect(publishCatalog(w.deps, former, connection.id)).rejects.toMatchObject(
    code('not_allowed'),
  )
})

test('a withdrawn revision is no longer published, and cannot be enabled by', async () => {
  const w = await world()
  const connection = await enabledConnection(w, w.admin)
  const withdrawn = await withdrawCatalog(w.deps, w.admin, connection.id, 1)
  expect(withdrawn.state).toBe('withdrawn')
  expect((await w.store.connections.get(connection.id))?.publishedId).toBeNull()
  expect(await withdrawCatalog(w.deps, w.admin, connection.id, 1)).toEqual(withdrawn)
  await expect(withdrawCatalog(w.deps, w.admin, connection.id, 2)).rejects.toMatchObject(
    code('not_found'),
  )
})

test('the owner reviews the catalog of a personal connection, nobody else', async () => {
  const w = await world()
  const connection = await addConnection(w, w.alice, { scope: 'personal' })
  const listing = listingOf('a')
  await expect(discover(w, w.bob, connection, listing)).rejects.toMatchObject(code('not_found'))
  await expect(discover(w, w.admin, connection, listing)).rejects.toMatchObject(code('not_allowed'))
  await discover(w, w.alice, connection, listing)
  const decisions = { include: ['a'] }
  await expect(review(w, connection, decisions, w.bob)).rejects.toMatchObject(code('not_found'))
  await expect(review(w, connection, decisions)).rejects.toMatchObject(code('not_allowed'))
  await review(w, connection, decisions, w.alice)
  await expect(publishCatalog(w.deps, w.bob, connection.id)).rejects.toMatchObject(
    code('not_found'),
  )
  expect(await publishCatalog(w.deps, w.alice, connection.id)).toMatchObject({ number: 1 })
})
