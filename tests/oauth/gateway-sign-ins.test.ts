/** What the audit record tells of sign-ins, and what a person is told whose gateway died in the middle of one. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { journalLines, signInEvents } from './credential-events.ts'
import { GatewayWorld } from './gateway-world.ts'
import { ScriptedAuthorizationServer } from './scripted-authorization-server.ts'

let world: GatewayWorld
beforeEach(async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
}, 60_000)
afterEach(() => world.stop())

const events = () => signInEvents(world.api)
const told = async () => (await events()).map(({ kind, code }) => (code ? `${kind} ${code}` : kind))

test('each sign-in is told with who began it, what came of it, and nothing secret', {
  timeout: 60_000,
}, async () => {
  await world.add('docs')
  const begun = await world.begin('docs')
  const brought = world.visit(begun)
  await world.callback(brought)
  world.server.switches.denies = 'access_denied'
  const denied = await world.signIn('docs')
  expect(denied).toMatchObject({ state: 'failed', code: 'oauth_denied' })
  world.server.switches.denies = undefined
  const other = await ScriptedAuthorizationServer.start()
  world.mcp.switches.issuers = [other.issuer]
  await expect(world.begin('docs')).rejects.toThrow()
  await other.close()
  expect(await told()).toEqual([
    'sign_in_begun',
    'sign_in_completed',
    'sign_in_begun',
    'sign_in_refused oauth_denied',
    'sign_in_refused oauth_issuer_changed',
  ])
  const [first, done, , refused, never] = await events()
  const { credential } = await world.show('docs')
  const by = expect.stringMatching(/^usr_/)
  const { issuer } = world.server
  expect(first).toMatchObject({ connectionName: 'docs', notes: { by, flowId: begun.id, issuer } })
  expect(done?.notes).toEqual({
    ...{ by, issuer, flowId: begun.id, account: 'first' },
    ...{ credentialId: credential?.id, credentialVersion: 1 },
  })
  expect(refused?.notes).toEqual({ by, issuer, flowId: denied.id })
  expect(never?.notes).toEqual({ by })
  const text = (await journalLines(world.api)).join('\n')
  const { code = '', state = '' } = brought
  expect(text).toContain(begun.id)
  for (const secret of [code, state, ...world.server.grants.issued])
    expect(text.includes(secret)).toBe(false)
})

test('a sign-in whose gateway dies in the middle is over, says so, and is begun again', {
  timeout: 120_000,
}, async () => {
  await world.add('docs')
  const begun = await world.begin('docs')
  const brought = world.visit(begun)
  const { promise, resolve } = Promise.withResolvers<void>()
  world.server.switches.tokensAfter = promise
  const page = world.callback(brought).catch(() => 'cut')
  await eventually(
    () => world.server.grants.issued.length,
    (count) => count > 0,
    15_000,
  )
  expect((await world.flow(begun)).state).toBe('finishing')
  await world.sallyport.kill()
  resolve()
  expect(await page).toBe('cut')
  world.server.switches.tokensAfter = undefined
  await world.sallyport.restart()
  const flow = await eventually(
    () => world.flow(begun),
    ({ state }) => state === 'failed',
    15_000,
  )
  expect(flow.code).toBe('oauth_flow_over')
  expect(await told()).toEqual(['sign_in_begun', 'sign_in_interrupted'])
  // The browser that is sent again reads the one answer, and what to do.
  const again = await world.callback(brought)
  expect(again.status).toBe(400)
  expect(again.text).toContain('This sign-in is over, or was never begun.')
  expect(again.text).toContain('sallyport connection authorize')
  expect((await world.show('docs')).credential).toBeNull()
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'first' })
})

test('one that was begun before its gateway died is finished by the next', {
  timeout: 120_000,
}, async () => {
  await world.add('docs')
  const begun = await world.begin('docs')
  await world.sallyport.kill()
  await world.sallyport.restart()
  expect((await world.callback(world.visit(begun))).status).toBe(200)
  expect(await world.flow(begun)).toMatchObject({ state: 'done', account: 'first' })
})
