import { expect, test } from 'vitest'
import {
  addProfile,
  enabledConnection,
  grant,
  newWorld,
} from '../../../../tests/authority/world.ts'
import { revokeGrants } from '../grant/revoke-grants.ts'
import { SchemaCache } from '../schema/cache.ts'
import { createSession } from '../session/create-session.ts'
import { createToolsets } from './load-toolset.ts'

test('a list asks for all grants at once, and leaves out what was revoked', async () => {
  const w = await newWorld()
  const connection = await enabledConnection(w, w.admin)
  await addProfile(w, 'p')
  await grant(w, w.admin, 'p', connection, 'get_*', 'read')
  await grant(w, w.admin, 'p', connection, 'put_*', 'write_unattended')
  const { session } = await createSession(w.deps, w.alice, { profile: 'p', isolation: 'external' })

  let asked = 0
  const grants = new Proxy(w.store.grants, {
    get: (target, name) => {
      asked++
      return Reflect.get(target, name).bind(target)
    },
  })
  const reads = { ...w.store, grants }
  const toolsets = createToolsets(reads, new SchemaCache(), Date.now)
  const toolset = await toolsets.of(session)
  const listed = async () => {
    asked = 0
    return (await toolsets.callable(session, toolset)).map(({ binding }) => binding.tool)
  }
  expect(await listed()).toEqual(['get_page', 'put_page'])
  expect(asked).toBe(1)
  await revokeGrants(w.deps, w.admin, { profile: 'p', connection: connection.name, tools: 'put_*' })
  expect(await listed()).toEqual(['get_page'])
})
