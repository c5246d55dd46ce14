/** Refresh: rotation, scopes, accounts, and every way it ends. */
import { type ErrorCode, errors } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import { OAuthWorld, type WorldOptions } from './oauth-world.ts'
import { answer, type ServerFault } from './scripted-faults.ts'

let world: OAuthWorld
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
afterEach(() => world.stop())

const formOf = (at: number) =>
  Object.fromEntries(world.server.asked('/token').at(at)?.form ?? new URLSearchParams())

test('a refresh is one request, and the next version of the credential', async () => {
  const { server, mcp } = await start()
  const granted = await world.connect()
  const before = server.requests.length
  const { answer: renewed, head } = await world.refresh()
  expect(head).toMatchObject({ verdict: 'result' })
  expect(renewed).toMatchObject({
    account: 'same',
    credentialId: granted.credentialId,
    credentialVersion: 2,
    places: [],
  })
  expect(server.requests).toHaveLength(before + 1)
  expect(formOf(-1)).toEqual({
    grant_type: 'refresh_token',
    refresh_token: expect.stringMatching(/^rt-/),
    resource: mcp.url,
  })
  world.adopt(renewed as never)
  expect((await world.call('counter_read')).verdict).toBe('result')
})

test('a new refresh token takes the place of the old one', async () => {
  await start()
  await world.connect()
  for (let round = 0; round < 3; round++) world.adopt((await world.refresh()).answer as never)
  const tokens = [1, 2, 3].map((at) => formOf(at)['refresh_token'])
  expect(new Set(tokens).size).toBe(3)
})

test('an old version opens the server no more, where it rotates', async () => {
  await start()
  await world.connect()
  const old = world.connection
  await world.refresh()
  world.connection = old
  expect((await world.refresh()).head).toEqual({ verdict: 'result', code: 'oauth_invalid_grant' })
})

test('a refresh token that is left out goes on', async () => {
  await start({ server: { rotates: false } })
  await world.connect()
  for (let round = 0; round < 3; round++) {
    const { answer: renewed } = await world.refresh()
    expect(renewed?.clear.oauth?.refreshable).toBe(true)
    world.adopt(renewed as never)
  }
  expect(new Set([1, 2, 3].map((at) => formOf(at)['refresh_token'])).size).toBe(1)
})

test('without a refresh token there is nothing to renew', async () => {
  const { server } = await start({ server: { givesRefreshToken: false } })
  const granted = await world.connect()
  expect(granted.clear.oauth?.refreshable).toBe(false)
  expect((await world.refresh()).head).toEqual({
    verdict: 'not_sent',
    code: 'oauth_not_refreshable',
  })
  expect(server.asked('/token')).toHaveLength(1)
})

const agreed = { oauthScope: ['read', 'write'] }

test.each<[given: string | undefined, told: string | undefined, code: ErrorCode | undefined]>([
  ['read write', 'read write', undefined],
  ['write read', 'write read', undefined],
  ['read', 'read', undefined],
  [undefined, 'read write', undefined],
  ['read offline_access', 'read offline_access', undefined],
  ['read write admin', undefined, 'oauth_scope_widened'],
  ['admin', undefined, 'oauth_scope_widened'],
])('agreed to "read write", renewed with %j: %j', async (given, told, code) => {
  const { server } = await start()
  await world.connect(world.request(agreed))
  server.switches.giveScope = () => given
  const renewed = await world.refresh()
  expect(renewed.code).toBe(code)
  expect(renewed.answer?.clear.oauth?.oauthScope).toBe(told)
})

test('a narrower answer does not narrow what was agreed to', async () => {
  const { server } = await start()
  await world.connect(world.request(agreed))
  server.switches.giveScope = () => 'read'
  world.adopt((await world.refresh()).answer as never)
  server.switches.giveScope = () => 'read write'
  expect((await world.refresh()).answer?.clear.oauth?.oauthScope).toBe('read write')
})

test('what was narrowed at the sign-in is all that was agreed to', async () => {
  const { server } = await start({ server: { giveScope: () => 'read' } })
  expect((await world.connect(world.request(agreed))).clear.oauth?.oauthScope).toBe('read')
  server.switches.giveScope = () => 'read write'
  expect((await world.refresh()).code).toBe('oauth_scope_widened')
})

test('a server that never says its scopes may say them once, and no more afterwards', async () => {
  const { server } = await start({ server: { giveScope: () => undefined } })
  expect((await world.connect()).clear.oauth).not.toHaveProperty('oauthScope')
  server.switches.giveScope = () => 'read'
  world.adopt((await world.refresh()).answer as never)
  server.switches.giveScope = () => 'read write'
  expect((await world.refresh()).code).toBe('oauth_scope_widened')
})

test.each(['id_token', 'members'] as const)(
  'another account, told by %s, is refused; nobody keeps who it was',
  async (tells) => {
    const { server } = await start({ server: { tells } })
    await world.connect()
    server.switches.tells = 'nothing'
    const silent = await world.refresh()
    expect(silent.answer?.clear.oauth?.account).toBe('alice@example.com')
    world.adopt(silent.answer as never)

    server.switches.tells = tells
    const same = await world.refresh()
    expect(same.answer?.account).toBe('same')
    world.adopt(same.answer as never)

    server.switches.account = { sub: 'bob', email: 'bob@example.com' }
    expect((await world.refresh()).head).toEqual({ verdict: 'result', code: 'account_changed' })
  },
)

test('an id token of another issuer is refused at a refresh', async () => {
  const { server } = await start({ server: { tells: 'id_token' } })
  await world.connect()
  const forged = await server.grants.signIdToken('registered', { iss: 'https://evil.example' })
  server.switches.alterTokens = (given) => ({ ...given, id_token: forged })
  expect((await world.refresh()).code).toBe('oauth_identity_invalid')
})

test.each<[string, ServerFault, 'result' | 'uncertain' | 'not_sent', ErrorCode]>([
  ['invalid_grant', answer(400, { error: 'invalid_grant' }), 'result', 'oauth_invalid_grant'],
  ['invalid_client', answer(401, { error: 'invalid_client' }), 'result', 'oauth_invalid_client'],
  ['invalid_target', answer(400, { error: 'invalid_target' }), 'result', 'oauth_refused'],
  ['a refusal that says 200', answer(200, { error: 'bad_token' }), 'result', 'oauth_refused'],
  ['__proto__', answer(400, { error: '__proto__' }), 'result', 'oauth_refused'],
  ['500', answer(500, 'oops'), 'uncertain', 'oauth_unavailable'],
  ['503 and an error', answer(503, { error: 'invalid_grant' }), 'uncertain', 'oauth_unavailable'],
  ['429', answer(429, ''), 'uncertain', 'oauth_unavailable'],
  ['slow_down', answer(400, { error: 'slow_down' }), 'uncertain', 'oauth_unavailable'],
  ['a page', answer(200, '<html>maintenance</html>'), 'uncertain', 'oauth_protocol'],
  ['404', answer(404, 'gone'), 'uncertain', 'oauth_protocol'],
  ['a list', answer(200, []), 'uncertain', 'oauth_protocol'],
  ['no token', answer(200, { token_type: 'Bearer' }), 'uncertain', 'oauth_protocol'],
  [
    'a token of another kind',
    answer(200, { access_token: 'a', token_type: 'DPoP' }),
    'result',
    'oauth_token_unusable',
  ],
  ['a token of no kind', answer(200, { access_token: 'a' }), 'result', 'oauth_token_unusable'],
  [
    'a token that would end its header',
    answer(200, { access_token: 'a\r\nx: y', token_type: 'bearer' }),
    'result',
    'oauth_token_unusable',
  ],
  [
    'a token longer than a header',
    answer(200, { access_token: 'a'.repeat(8_001), token_type: 'bearer' }),
    'result',
    'oauth_token_unusable',
  ],
  ['a cut', { kind: 'cut' }, 'uncertain', 'upstream_unreachable'],
  ['more than the limit', { kind: 'huge' }, 'uncertain', 'upstream_too_large'],
])('a provider that answers with %s', async (_what, fault, verdict, code) => {
  const { server } = await start()
  await world.connect()
  const credential = world.connection
  server.fail('/token', fault)
  expect((await world.refresh()).head).toEqual({ verdict, code })
  expect(world.connection).toBe(credential)
  // Control, and the proof that a transient failure costs nothing: the same credential is renewed afterwards.
  expect((await world.refresh()).answer?.credentialVersion).toBe(2)
})

test('a provider that is away is not sent to, and may be asked again', async () => {
  const { server } = await start()
  await world.connect()
  await server.close()
  const { head } = await world.refresh()
  expect(head.code).toBe('upstream_unreachable')
  expect(errors.upstream_unreachable.retry).toBe(true)
})

test.each<[expiresIn: unknown, seconds: number | undefined]>([
  [3_600, 3_600],
  ['3600', 3_600],
  [0, 0],
  [1e300, 315_360_000],
  [-5, undefined],
  ['soon', undefined],
  [undefined, undefined],
])('a life of %j is told as %j seconds', async (expiresIn, seconds) => {
  await start({ server: { expiresIn } })
  const before = Date.now()
  const { clear } = await world.connect()
  const left = clear.oauth?.expiresAt
  if (seconds === undefined) expect(left).toBeUndefined()
  else {
    expect(left).toBeGreaterThanOrEqual(before + seconds * 1_000)
    expect(left).toBeLessThanOrEqual(Date.now() + seconds * 1_000)
  }
})

test('an expired token is not sent; a renewed one is', async () => {
  const { server, mcp } = await start({ server: { expiresIn: 0 } })
  await world.connect()
  const before = mcp.requests.length
  expect((await world.list()).head).toEqual({ verdict: 'not_sent', code: 'credential_expired' })
  expect((await world.call('counter_read')).code).toBe('credential_expired')
  expect(mcp.requests).toHaveLength(before)
  server.switches.expiresIn = 60
  world.adopt((await world.refresh()).answer as never)
  expect((await world.call('counter_read')).verdict).toBe('result')
})

test('a token that the server no longer takes is told as that, for a read and for a list', async () => {
  const { server } = await start()
  await world.connect()
  expect((await world.call('counter_read')).code).toBeUndefined()
  const order = { connection: world.connection, tool: 'counter_read' }
  const { answer: listing } = await world.list()
  const toolDigest = listing?.tools.find(({ name }) => name === order.tool)?.digest ?? ''
  server.grants.revokeAll()
  const { head } = await world.gateway.order({ ...order, toolDigest })
  expect(head).toMatchObject({ verdict: 'result', code: 'upstream_unauthorized', status: 401 })
  expect((await world.list()).code).toBe('upstream_http_401')
})
