/** What an authorization server publishes is kept for a while; where it changes, nothing secret goes to another host. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { OAuthWorld } from './oauth-world.ts'
import { ScriptedAuthorizationServer } from './scripted-authorization-server.ts'
import { answer, type ServerFault } from './scripted-faults.ts'

let world: OAuthWorld
let elsewhere: ScriptedAuthorizationServer
beforeEach(async () => {
  world = await OAuthWorld.start()
  elsewhere = await ScriptedAuthorizationServer.start()
})
afterEach(async () => {
  await world.stop()
  await elsewhere.close()
})

const metadata = '/.well-known/oauth-authorization-server'
const asked = (path: string) => world.server.asked(path).length
/** The metadata names something at the other server from now on. */
function name(changed: (origin: string) => Record<string, unknown>): void {
  const more = changed(elsewhere.origin)
  world.server.switches.alter = (all) => ({ ...all, ...more })
}
/** As a gateway does that knows what somebody agreed to. */
async function agreed() {
  const { server } = await world.connect()
  return world.request({ expectedIssuer: world.server.issuer, expectedServer: server })
}

test('metadata is read once for sign-ins that follow each other, a refresh and a revocation', async () => {
  const { mcp } = world
  const first = await world.connect()
  expect(first.server).toEqual({
    authorization: world.server.origin,
    token: world.server.origin,
    revocation: world.server.origin,
  })
  world.adopt((await world.refresh()).answer as never)
  expect((await world.begin()).answer?.kind).toBe('begun')
  expect((await world.act('oauth_revoke')).answer).toEqual({ kind: 'revoked' })
  expect(asked(metadata)).toBe(1)
  // What the MCP server names is asked anew each time: it may name another authorization server.
  const looked = mcp.requests.filter(({ path }) => path.startsWith('/.well-known/'))
  expect(looked).toHaveLength(2)
})

test('a sign-in that failed is tried again with what is published then', async () => {
  const { switches } = world.server
  switches.challengeMethods = undefined
  expect((await world.begin()).code).toBe('oauth_no_pkce')
  switches.challengeMethods = ['S256']
  expect((await world.begin()).answer?.kind).toBe('begun')
  expect(asked(metadata)).toBe(2)
})

test.each<[what: string, change: (origin: string) => Record<string, unknown>, code?: string]>([
  ['nothing that matters', () => ({ scopes_supported: ['more'] })],
  [
    'another host that people are sent to',
    (origin) => ({ authorization_endpoint: `${origin}/authorize` }),
    'oauth_server_changed',
  ],
  [
    'another host for tokens',
    (origin) => ({ token_endpoint: `${origin}/token` }),
    'oauth_server_changed',
  ],
  [
    'another host that tokens are revoked at',
    (origin) => ({ revocation_endpoint: `${origin}/revoke` }),
    'oauth_server_changed',
  ],
])('a sign-in at a server that names %s', async (_what, change, code) => {
  const request = await agreed()
  await world.restartWorker()
  name(change)
  const told = await world.begin(request)
  expect(told.code).toBe(code)
  expect(elsewhere.requests).toEqual([])
  // A person who agrees to it begins without what was before.
  expect((await world.begin(world.request())).answer?.kind).toBe('begun')
})

test('a worker that starts anew reads it before it refreshes, and sends nothing to a host that moved', async () => {
  await world.connect()
  await world.restartWorker()
  world.adopt((await world.refresh()).answer as never)
  expect(asked(metadata)).toBe(2)
  await world.restartWorker()
  name((origin) => ({ token_endpoint: `${origin}/token` }))
  const before = asked('/token')
  const { head } = await world.refresh()
  expect(head).toEqual({ verdict: 'not_sent', code: 'oauth_server_changed' })
  // Neither where they went, nor where they would go.
  expect(asked('/token')).toBe(before)
  expect(elsewhere.requests).toEqual([])
  // Control: it named the host of before again.
  world.server.switches.alter = (all) => all
  await world.restartWorker()
  expect((await world.refresh()).answer?.credentialVersion).toBe(3)
})

test('tokens that are given at another path of their host are asked for there, from the next refresh on', async () => {
  const { switches } = world.server
  await world.connect()
  switches.tokenPath = '/oauth2/token'
  const lost = await world.refresh()
  expect(lost.head).toEqual({ verdict: 'uncertain', code: 'oauth_protocol' })
  world.adopt((await world.refresh()).answer as never)
  expect(asked('/oauth2/token')).toBe(1)
  // The seal names it now: a worker that cannot read metadata goes there.
  await world.restartWorker()
  world.server.fail(metadata, answer(503), true)
  expect((await world.refresh()).answer?.credentialVersion).toBe(3)
  expect(asked('/oauth2/token')).toBe(2)
})

test('a failure that a move explains is told as that, and nothing follows it', async () => {
  await world.connect()
  name((origin) => ({ token_endpoint: `${origin}/token` }))
  world.server.fail('/token', answer(404), true)
  const { head } = await world.refresh()
  expect(head).toEqual({ verdict: 'result', code: 'oauth_server_changed' })
  expect(elsewhere.requests).toEqual([])
  // Control: where nothing moved, the same failure is what it is.
  world.server.switches.alter = (all) => all
  world.server.fail('/token', answer(400, { error: 'invalid_grant' }), true)
  await world.restartWorker()
  expect((await world.refresh()).head).toEqual({ verdict: 'result', code: 'oauth_invalid_grant' })
})

test('a server that has too much to do is not asked for its metadata as well', async () => {
  await world.connect()
  world.server.fail('/token', answer(503), true)
  expect((await world.refresh()).code).toBe('oauth_unavailable')
  expect(asked(metadata)).toBe(1)
})

test.each<[what: string, ServerFault]>([
  ['is away', answer(503)],
  ['never comes', { kind: 'hang' }],
  ['is no metadata', answer(200, 'hello')],
  ['names another issuer', answer(200, { issuer: 'https://evil.example', token_endpoint: 'x' })],
  ['leads elsewhere', { kind: 'redirect', to: 'http://127.0.0.1:1/' }],
])('a refresh does not depend on metadata that %s', async (_what, fault) => {
  await world.connect()
  await world.restartWorker()
  world.server.fail(metadata, fault, true)
  world.adopt((await world.refresh()).answer as never)
  const before = asked(metadata)
  // Nor is it asked for each time.
  expect((await world.refresh()).answer?.credentialVersion).toBe(3)
  expect(asked(metadata)).toBe(before)
})

test('tokens are revoked at another path of the host, and not at another host', async () => {
  const { switches } = world.server
  await world.connect()
  switches.revokePath = '/oauth2/revoke'
  expect((await world.act('oauth_revoke')).answer).toEqual({ kind: 'revoked' })
  expect(asked('/oauth2/revoke')).toBe(2)
  await world.connect()
  await world.restartWorker()
  name((origin) => ({ revocation_endpoint: `${origin}/revoke` }))
  expect((await world.act('oauth_revoke')).head).toEqual({
    ...{ verdict: 'not_sent', code: 'oauth_server_changed' },
  })
  expect(elsewhere.requests).toEqual([])
  // A refresh goes on: its host is the one of before.
  expect((await world.refresh()).answer?.credentialVersion).toBe(2)
})
