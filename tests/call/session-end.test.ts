import { endOverdueSessions, endSession, type InFlight } from '@sallyport/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openWorld, type World } from './call-world.ts'

let world: World
beforeEach(async () => {
  world = await openWorld('memory')
})
afterEach(() => world.close())

/** A gateway that carries none of the session's calls, or that has waited for them as long as it may. */
const elsewhere: InFlight = { settleSession: async () => {} }

const end = () => {
  const { store, session, journal } = world
  const deps = { store, journal, ids: () => expect.fail(), random: () => expect.fail() }
  const actor = { userId: session.ownerId, role: 'admin' } as const
  return endSession(deps, elsewhere, actor, session.id)
}

const sweep = () =>
  endOverdueSessions(world, elsewhere, world.now(), (_, error) => expect.fail(String(error)))

test('a session with a call in flight is closed at once and ends when the call has', async () => {
  const outcome = world.call()
  const intent = await world.worker.intent()
  expect(await end()).toMatchObject({ state: 'closing', endReason: 'ended_by_user' })
  expect(await world.call()).toMatchObject({ code: 'session_not_open' })
  expect(await sweep()).toEqual([])
  expect((await world.store.sessions.get(world.session.id))?.state).toBe('closing')

  world.answer(intent)
  expect(await outcome).toMatchObject({ kind: 'result' })
  await world.group.drained()
  expect(await sweep()).toEqual([world.session.id])
  expect((await world.store.sessions.get(world.session.id))?.state).toBe('ended')
})

test('the sweep does not wait for the calls of a session that is closing', async () => {
  void world.call()
  await world.worker.intent()
  await end()
  let waited = 0
  const patient: InFlight = {
    settleSession: async () => {
      waited++
    },
  }
  await endOverdueSessions(world, patient, world.now(), () => expect.fail())
  expect(waited).toBe(0)
})
