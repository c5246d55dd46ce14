import { confirmDenySet, newestDenySet, sessionDenySet } from '@sallyport/core'
import { expect, test } from 'vitest'
import { createSession } from '../../../../packages/core/src/session/create-session.ts'
import { addConnection, addProfile, newWorld } from '../../../../tests/authority/world.ts'
import { DenyDesk } from './deny-desk.ts'
import { ownPlaces } from './own-places.ts'

async function desk(paused: () => Promise<void> = async () => {}) {
  let now = 10_000
  const world = await newWorld(undefined, () => now)
  const denySets = new DenyDesk({
    ...world.deps,
    inFlight: { settleSession: async () => {} },
    clock: () => now,
    pause: async (ms) => {
      now += ms
      await paused()
    },
  })
  const revision = async () => (await world.store.denials.published())?.revision
  const wait = (ms: number): void => {
    now += ms
  }
  return { world, denySets, revision, wait }
}

test('looks soon after a change was told, and else from time to time', async () => {
  const { world, denySets, revision, wait } = await desk()
  await addConnection(world, world.admin)
  await denySets.round()
  expect(await revision()).toBe(1)
  await addConnection(world, world.admin, { name: 'wiki', url: 'https://wiki.example.com/mcp' })
  await denySets.round()
  expect(await revision()).toBe(1)
  denySets.changed()
  await denySets.round()
  expect(await revision()).toBe(2)
  await addConnection(world, world.admin, { name: 'mail', url: 'https://mail.example.com/mcp' })
  wait(5_000)
  await denySets.round()
  expect(await revision()).toBe(3)
})

test('whoever waits for a change waits until everybody has confirmed, or a while', async () => {
  let isConfirming = false
  const confirm = async (): Promise<void> => {
    if (!isConfirming) return
    const { revision, digest } = await sessionDenySet(world.store, session.id)
    await confirmDenySet(world.deps, world.admin, session.id, { revision, digest })
  }
  const { world, denySets, revision } = await desk(confirm)
  await addProfile(world, 'p')
  const { revision: newest, digest } = await newestDenySet(world.store)
  const input = {
    profile: 'p',
    isolation: 'external',
    denySet: { revision: newest, digest },
  } as const
  const { session } = await createSession(world.deps, world.admin, input)
  await addConnection(world, world.admin)
  isConfirming = true
  await denySets.settle()
  expect(await revision()).toBe(1)
  expect((await world.store.denials.ofSession(session.id))?.confirmed).toBe(1)
  isConfirming = false
  await addConnection(world, world.admin, { name: 'wiki', url: 'https://wiki.example.com/mcp' })
  // Somebody's word that does not come is not waited for longer than an owner has.
  await denySets.settle()
  expect(await revision()).toBe(2)
  expect((await world.store.denials.ofSession(session.id))?.confirmed).toBe(1)
})

test('our own places are every address of both listeners, and what stands in front', () => {
  const listeners = [
    { addresses: ['0.0.0.0', '192.0.2.7', 'fe80::1'], port: 7400 },
    { addresses: ['127.0.0.1'], port: 7401 },
  ]
  expect(ownPlaces(listeners, 'https://Sally.example/x')).toEqual([
    { host: '0.0.0.0', port: 7400 },
    { host: '192.0.2.7', port: 7400 },
    { host: 'fe80::1', port: 7400 },
    { host: '127.0.0.1', port: 7401 },
    { host: 'sally.example', port: 443 },
  ])
  expect(ownPlaces([], 'http://127.0.0.1:8080')).toEqual([{ host: '127.0.0.1', port: 8080 }])
})
