/** Calls beside the life of a token: over, refused, its server away, its grant gone. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { killAndProveGone } from '../harness/processes.ts'
import { eventually } from '../system/eventually.ts'
import { rowsOf } from '../system/journal.ts'
import { GatewayWorld } from './gateway-world.ts'

let world: GatewayWorld
beforeEach(async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
}, 60_000)
afterEach(() => world.stop())

test('a token the server does not take any more costs one write, and the next one goes through', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  const sent = world.mcp.callsWith.length
  world.mcp.refuseNewest()
  const answer = await world.call('docs', session, 'counter_add', '{"by":1}')
  expect(answer.failure?.code).toBe('upstream_unauthorized')
  expect(world.mcp.callsWith.length - sent).toBe(1)
  // At once: it waits for the token that is on its way.
  expect((await world.call('docs', session, 'counter_add', '{"by":2}')).isError).toBe(false)
  expect(world.server.asked('/token')).toHaveLength(2)
})

test('a token the server does not take any more costs a read nothing: it is sent once more with the new one', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  const sent = world.mcp.callsWith.length
  world.mcp.refuseNewest()
  const answers = await Promise.all([1, 2, 3].map(() => world.call('docs', session)))
  expect(answers.map(({ isError }) => isError)).toEqual([false, false, false])
  expect(world.server.asked('/token')).toHaveLength(2)
  const rows = await rowsOf(world.sallyport, session.id)
  const refused = rows.filter(({ code }) => code === 'upstream_unauthorized')
  expect(refused.length).toBeGreaterThan(0)
  const again = rows.filter(({ callId }) => refused.some(({ id }) => id === callId))
  expect(again.map(({ state }) => state)).toEqual(refused.map(() => 'succeeded'))
  expect(new Set([...refused, ...again].map(({ intentId }) => intentId)).size).toBe(
    2 * refused.length,
  )
  expect(world.mcp.callsWith.length - sent).toBe(3 + refused.length)
})

test('a read is sent twice at most, and a server that takes no token is not asked for more of them', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  const sent = world.mcp.callsWith.length
  const { lets } = world.mcp.switches
  world.mcp.switches.lets = (token, resource, isCall) => !isCall && lets(token, resource, isCall)
  for (let call = 0; call < 3; call++)
    expect((await world.call('docs', session)).failure?.code).toBe('upstream_unauthorized')
  expect(world.mcp.callsWith.length - sent).toBe(4)
  expect(world.server.asked('/token')).toHaveLength(2)
})

test('a token that is not even taken for a look at the tools is renewed as well', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  world.mcp.refuseNewest()
  // The worker forgets what it knew: it has to connect and list before it calls.
  await killAndProveGone(world.sallyport.workerPid() ?? 0)
  const answer = await eventually(
    () => world.call('docs', session),
    // What was on its way to the one that is gone is lost, and may be asked again.
    ({ failure }) => failure?.code !== 'worker_down' && failure?.code !== 'outcome_lost',
    15_000,
  )
  expect(answer.failure).toBeUndefined()
  expect(world.server.asked('/token')).toHaveLength(2)
})

test('a token that is over is renewed before the call is sent, once for all that wait', {
  timeout: 90_000,
}, async () => {
  world.server.switches.expiresIn = 10
  const session = await world.open('docs')
  await world.expire('docs')
  world.server.faults.clear()
  world.server.switches.expiresIn = 3_600
  const before = world.server.asked('/token').length
  const calls = Array.from({ length: 8 }, (_, n) =>
    world.call('docs', session, 'counter_add', `{"by":${n + 1}}`),
  )
  const answers = await Promise.all(calls)
  expect(answers.map(({ isError }) => isError)).toEqual(answers.map(() => false))
  expect(world.server.asked('/token')).toHaveLength(before + 1)
})

test('where the authorization server is away a write with a token that is over is refused, and goes through afterwards', {
  timeout: 90_000,
}, async () => {
  world.server.switches.expiresIn = 10
  const session = await world.open('docs')
  await world.expire('docs')
  const requests = world.mcp.requests.length
  const refused = await world.call('docs', session, 'counter_add', '{"by":3}')
  expect(refused.failure?.code).toBe('oauth_unavailable')
  expect(world.mcp.requests).toHaveLength(requests)
  expect(await world.show('docs')).toMatchObject({ credential: { state: 'active' } })
  world.server.faults.clear()
  const answer = await eventually(
    () => world.call('docs', session, 'counter_add', '{"by":4}'),
    ({ isError }) => !isError,
    15_000,
  )
  expect(answer.isError).toBe(false)
})
