/** A server that wants more rights than were granted, through the whole program. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GatewayWorld } from './gateway-world.ts'

let world: GatewayWorld
beforeEach(async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
  const { metadata } = world.mcp.switches
  world.mcp.switches.metadata = (server) => ({ ...metadata(server), scopes_supported: ['read'] })
}, 60_000)
afterEach(() => world.stop())

const scopeOf = (authorizeUrl: string | null) =>
  new URL(authorizeUrl ?? '').searchParams.get('scope')?.split(' ').toSorted()

test('a call that lacks a scope has one code, and the next sign-in asks for what is granted and what is lacking', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  expect((await world.show('docs')).missingScopes).toEqual([])
  world.mcp.switches.demands = 'write admin'
  for (const [tool, args] of [
    ['counter_read', '{}'],
    ['counter_add', '{"by":1}'],
  ] as const)
    expect((await world.call('docs', session, tool, args)).failure?.code).toBe(
      'upstream_scope_missing',
    )
  const shown = await world.until('docs', ({ missingScopes }) => missingScopes.length > 0)
  expect(shown).toMatchObject({
    missingScopes: ['write', 'admin'],
    credential: { version: 1, state: 'active' },
    condition: 'needs_sign_in',
  })
  const begun = await world.begin('docs')
  expect(scopeOf(begun.authorizeUrl)).toEqual(['admin', 'read', 'write'])
  // What was granted goes on meanwhile.
  world.mcp.switches.demands = 'read'
  expect((await world.call('docs', session)).isError).toBe(false)
  await world.callback(world.visit(begun))
  expect(await world.flow(begun)).toMatchObject({ state: 'done', account: 'same' })
  expect((await world.show('docs')).missingScopes).toEqual([])
  world.mcp.switches.demands = 'write admin'
  expect((await world.call('docs', session)).isError).toBe(false)
})

test('a person who grants some of it leaves the rest missing', { timeout: 90_000 }, async () => {
  const session = await world.open('docs')
  world.mcp.switches.demands = 'write admin'
  expect((await world.call('docs', session)).failure?.code).toBe('upstream_scope_missing')
  await world.until('docs', ({ missingScopes }) => missingScopes.length > 0)
  world.server.switches.giveScope = () => 'read write'
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'same' })
  expect(await world.show('docs')).toMatchObject({
    missingScopes: ['admin'],
    credential: { oauth: { scopes: ['read', 'write'] } },
  })
})
