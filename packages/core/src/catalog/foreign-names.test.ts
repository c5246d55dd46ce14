import { expect, test } from 'vitest'
import {
  addConnection,
  discover,
  enabledConnection,
  listingOf,
  newWorld,
} from '../../../../tests/authority/world.ts'

test('a listing is compared with what other connections have published, as far as the reviewer may know them', async () => {
  const w = await newWorld()
  await enabledConnection(w, w.admin, { name: 'mail' }, listingOf('get_message'))
  await enabledConnection(w, w.alice, { name: 'notes', scope: 'personal' }, listingOf('read_note'))
  await discover(
    w,
    w.admin,
    await addConnection(w, w.admin, { name: 'draft' }),
    listingOf('find_draft'),
  )
  const flagsFor = async (actor: typeof w.admin, scope: string) => {
    const connection = await addConnection(w, actor, { name: 'new', scope })
    const listing = listingOf('get_mesage', 'read_nota', 'find_drafts', 'put_other')
    const { id } = await discover(w, actor, connection, listing)
    const flags = (await w.store.catalogs.tools(id)).flatMap((tool) => tool.flags)
    return flags.map(({ kind, text }) => `${kind} ${text}`)
  }
  expect(await flagsFor(w.admin, 'org')).toEqual(['imitates_tool get_message'])
  expect(await flagsFor(w.alice, 'personal')).toEqual([
    'imitates_tool get_message',
    'imitates_tool read_note',
  ])
})
