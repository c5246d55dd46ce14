/** Signing in through the whole program: state, accounts, refresh, and what is told of it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { GatewayWorld } from './gateway-world.ts'

let world: GatewayWorld
beforeEach(async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
}, 60_000)
afterEach(() => world.stop())

const over = 'This sign-in is over, or was never begun.'

test('somebody signs in, and a guest calls with what came of it', { timeout: 60_000 }, async () => {
  await world.add('docs')
  expect(await world.show('docs')).toMatchObject({
    auth: 'oauth',
    state: 'draft',
    credential: null,
    condition: 'needs_sign_in',
  })
  const begun = await world.begin('docs')
  expect(begun).toMatchObject({ state: 'waiting', issuer: world.server.issuer, connection: 'docs' })
  const page = await world.callback(world.visit(begun))
  expect(page.status).toBe(200)
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(page.text).not.toMatch(/<script|code-/)
  expect(await world.flow(begun)).toMatchObject({ state: 'done', account: 'first', code: null })
  expect(await world.show('docs')).toMatchObject({
    credential: {
      version: 1,
      state: 'active',
      oauth: { refreshable: true, issuerHost: new URL(world.server.issuer).host },
    },
    condition: 'ok',
  })
  expect(await world.api('connection.test', { name: 'docs' })).toMatchObject({ state: 'ok' })
  const files = ['sallyport.db', 'sallyport.db-wal'].map((name) =>
    readFileSync(join(world.sallyport.dataDir, name), 'latin1'),
  )
  for (const token of world.server.grants.issued) {
    for (const text of files) expect(text.includes(token)).toBe(false)
    expect(world.sallyport.output()).not.toContain(token)
  }
})

test('a state that is absent, used or of nobody is one answer', { timeout: 60_000 }, async () => {
  await world.add('docs')
  const brought = world.visit(await world.begin('docs'))
  const { state = '', ...rest } = brought
  const strange: (Record<string, string> | string)[] = [
    rest,
    {},
    { ...brought, state: 'x' },
    { ...brought, state: 'A'.repeat(43) },
    `${new URLSearchParams(brought)}&state=${state}`,
  ]
  const answers = []
  for (const one of strange) answers.push(await world.callback(one))
  expect((await world.callback(brought)).status).toBe(200)
  answers.push(await world.callback(brought))
  for (const { status, text } of answers) {
    expect({ status, text }).toEqual({ status: 400, text: answers[0]?.text })
    expect(text).toContain(over)
  }
})

test('a code that comes with the state of another sign-in is no credential', {
  timeout: 60_000,
}, async () => {
  await world.add('docs')
  await world.add('wiki')
  const [mine, other] = [await world.begin('docs'), await world.begin('wiki')]
  const { code = '', iss = '' } = world.visit(other)
  const swapped = await world.callback({ code, iss, state: world.visit(mine)['state'] ?? '' })
  expect(swapped.status).toBe(400)
  expect(swapped.text).toBe((await world.callback({ code, iss, state: 'x' })).text)
  expect(await world.flow(mine)).toMatchObject({ state: 'failed', code: 'oauth_invalid_grant' })
  expect((await world.show('docs')).credential).toBeNull()
  expect((await world.signIn('docs')).state).toBe('done')
})

test('a connection that was edited or removed meanwhile gets nothing', {
  timeout: 60_000,
}, async () => {
  await world.add('docs')
  const brought = world.visit(await world.begin('docs'))
  await world.api('connection.remove', { name: 'docs' })
  const page = await world.callback(brought)
  expect(page.status).toBe(400)
  expect(page.text).toContain(over)
  expect(world.server.asked('/token')).toEqual([])
})

test('the same account goes on with open sessions, another one does not', {
  timeout: 90_000,
}, async () => {
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  world.server.grants.revokeAll()
  expect(await world.api('connection.test', { name: 'docs' })).toMatchObject({ state: 'failed' })
  expect(await world.show('docs')).toMatchObject({
    credential: { state: 'broken' },
    health: { code: 'oauth_invalid_grant' },
    condition: 'needs_sign_in',
  })
  expect((await world.call('docs', session)).failure?.code).toBe('credential_unusable')
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'same' })
  expect((await world.show('docs')).credential).toMatchObject({ version: 2, state: 'active' })
  expect((await world.call('docs', session)).isError).toBe(false)
  world.server.switches.account = { sub: 'mallory' }
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'other' })
  expect((await world.call('docs', session)).failure?.code).toBe('connection_changed')
  expect(await world.api('connection.test', { name: 'docs' })).toMatchObject({ state: 'ok' })
})

test('disconnecting revokes: no byte goes out any more', { timeout: 60_000 }, async () => {
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  await world.api('connection.disconnect', { name: 'docs' })
  const requests = world.mcp.requests.length
  expect((await world.call('docs', session)).failure?.code).toBe('credential_unusable')
  expect(world.mcp.requests).toHaveLength(requests)
  expect(await world.show('docs')).toMatchObject({
    credential: { state: 'revoked' },
    condition: 'revoked',
  })
})

test('a token is renewed ahead of time', { timeout: 60_000 }, async () => {
  world.server.switches.expiresIn = 12
  await world.add('docs')
  await world.signIn('docs')
  const refreshed = await world.until('docs', ({ credential }) => (credential?.version ?? 0) > 1)
  expect(refreshed).toMatchObject({ credential: { state: 'active' }, condition: 'ok' })
})
