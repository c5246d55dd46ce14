/** What the browser brings back: whose answer it is, and whether it belongs to what was begun. */
import { canonicalJson, type ErrorCode } from '@sallyport/protocol'
import { digestBytes, seal } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { sealForTest } from '../../apps/worker/src/testing/scripted-gateway.ts'
import { newState, OAuthWorld, type WorldOptions } from './oauth-world.ts'

let world: OAuthWorld
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
afterEach(() => world.stop())

const isNotAsked = () => expect(world.server.asked('/token')).toEqual([])

test.each<[announces: boolean, iss: string | undefined, code: ErrorCode | undefined]>([
  [true, 'correct', undefined],
  [true, undefined, 'oauth_iss_mismatch'],
  [true, 'https://evil.example', 'oauth_iss_mismatch'],
  [true, 'slash', 'oauth_iss_mismatch'],
  [false, 'correct', undefined],
  [false, undefined, undefined],
  [false, 'https://evil.example', 'oauth_iss_mismatch'],
  [false, 'capitals', 'oauth_iss_mismatch'],
])('a server that announces iss: %s, an answer with %s: %s', async (announcesIss, iss, code) => {
  const { server } = await start({ server: { announcesIss } })
  const spelt = { slash: `${server.issuer}/`, capitals: server.issuer.toUpperCase() }
  server.switches.iss = spelt[iss as 'slash'] ?? iss
  const told = await world.finish(await world.visit())
  expect(told.code).toBe(code)
  if (code === undefined) expect(told.answer?.kind).toBe('granted')
  else {
    expect(told.head.verdict).toBe('not_sent')
    isNotAsked()
  }
})

test('the code of an honest server does not reach one that mixed it up', async () => {
  const { server } = await start()
  const honest = await OAuthWorld.start()
  try {
    const request = world.request()
    const begun = await world.begin(request)
    const theirs = await honest.visit()
    const mixed = { ...theirs, state: request['state'], pending: begun.answer?.pending }
    expect((await world.finish(mixed)).code).toBe('oauth_iss_mismatch')
    expect(server.asked('/token')).toEqual([])
    expect((await honest.finish(theirs)).answer?.kind).toBe('granted')
  } finally {
    await honest.stop()
  }
})

test.each<[denies: string, code: ErrorCode]>([
  ['access_denied', 'oauth_denied'],
  ['temporarily_unavailable', 'oauth_unavailable'],
  ['invalid_scope', 'oauth_refused'],
  ['<script>alert(1)</script>', 'oauth_refused'],
  ['__proto__', 'oauth_refused'],
])('an answer that says %s is %s', async (denies, code) => {
  await start({ server: { denies } })
  expect((await world.finish(await world.visit())).head).toEqual({ verdict: 'not_sent', code })
  isNotAsked()
})

test('what another server says of an error is not believed', async () => {
  await start({ server: { denies: 'access_denied', iss: 'https://evil.example' } })
  expect((await world.finish(await world.visit())).code).toBe('oauth_iss_mismatch')
})

test.each<[string, Record<string, unknown>, ErrorCode]>([
  ['another state', { state: newState() }, 'oauth_flow_over'],
  ['no state', { state: '' }, 'oauth_flow_over'],
  ['something else than was begun', { pending: 'nonsense' }, 'oauth_flow_over'],
  ['neither code nor error', { code: undefined }, 'bad_request'],
  ['members nobody knows', { verifier: 'mine' }, 'bad_request'],
])('an answer with %s is refused', async (_what, changed, code) => {
  await start()
  const brought = JSON.parse(JSON.stringify({ ...(await world.visit()), ...changed }))
  expect((await world.finish(brought)).head).toEqual({ verdict: 'not_sent', code })
  isNotAsked()
})

test('two sign-ins at once do not exchange their answers', async () => {
  await start()
  const [one, other] = [await world.visit(), await world.visit()]
  expect((await world.finish({ ...one, pending: other['pending'] })).code).toBe('oauth_flow_over')
  expect((await world.finish({ ...one, state: other['state'] })).code).toBe('oauth_flow_over')
  isNotAsked()
  expect((await world.finish(one)).answer?.kind).toBe('granted')
  expect((await world.finish(other)).answer?.kind).toBe('granted')
})

test('what was begun for one connection is not finished for another, nor for a later revision', async () => {
  const { mcp, worker } = await start()
  const brought = await world.visit()
  const own = world.connection
  const { connectionId } = own.claims
  for (const place of [{}, { connectionId, revision: 2 }, { connectionId, scope: 'project:x' }]) {
    world.connection = sealForTest({ url: mcp.url, key: worker.key, ...place })
    expect((await world.finish(brought)).code).toBe('oauth_flow_over')
  }
  isNotAsked()
  world.connection = own
  expect((await world.finish(brought)).answer?.kind).toBe('granted')
})

test('what was begun beside one credential is not finished beside another', async () => {
  await start()
  const before = world.connection
  const brought = await world.visit()
  await world.connect()
  expect((await world.finish(brought)).code).toBe('oauth_flow_over')
  world.connection = before
  expect((await world.finish(brought)).answer?.account).toBe('first')
})

test('a sign-in is over after a quarter of an hour', async () => {
  await start()
  const { answer } = await world.begin()
  const left = (answer?.expiresAt ?? 0) - Date.now()
  expect(left).toBeGreaterThan(14 * 60_000)
  expect(left).toBeLessThanOrEqual(15 * 60_000)
  expect((await finishForged({ expiresAt: Date.now() - 1 })).code).toBe('oauth_flow_over')
  isNotAsked()
  // Not over: it comes to the server, which knows nothing of it.
  expect((await finishForged({})).code).toBe('oauth_invalid_client')
})

/** With a seal of our own, as anybody can make one who knows the public key. */
async function finishForged(changed: Record<string, unknown>) {
  const { worker, connection, mcp, server } = world
  const { connectionId: id, connectionRevision: version, scope } = connection.claims
  const state = newState()
  const pending = {
    ...{ state, codeVerifier: 'v'.repeat(43), redirectUri: 'http://127.0.0.1:1/cb' },
    ...{ issuer: server.issuer, tokenEndpoint: `${server.issuer}/token`, resource: mcp.url },
    ...{ client: { clientId: 'forged', authMethod: 'none' }, destination: mcp.url },
    ...{ freshCredentialId: 'crd_1', expiresAt: Date.now() + 60_000, places: [] },
    ...changed,
  }
  const place = { kind: 'oauth_pending', id, scope, version } as const
  return await world.finish({ state, code: 'c', pending: seal(pending, place, worker.key) })
}

test.each([
  ['no client', { client: undefined }],
  ['null for a client', { client: null }],
  ['a client that is proved by nothing known', { client: { clientId: 'c', authMethod: 'tls' } }],
  ['a client that would break a line', { client: { clientId: 'c\n', authMethod: 'none' } }],
  ['no verifier', { codeVerifier: 7 }],
  ['no time', { expiresAt: 'tomorrow' }],
])('what was begun with %s was never begun', async (_what, changed) => {
  await start()
  expect((await finishForged(changed)).code).toBe('oauth_flow_over')
  isNotAsked()
})

test('a code is good once', async () => {
  await start()
  const brought = await world.visit()
  expect((await world.finish(brought)).answer?.kind).toBe('granted')
  expect((await world.finish(brought)).head).toEqual({
    verdict: 'result',
    code: 'oauth_invalid_grant',
  })
})

test('an order that is not whole is not taken', async () => {
  await start()
  const refused = async (act: string, claims: Record<string, unknown>) => {
    const { connection, gateway } = world
    const text = canonicalJson(world.request())
    const argumentsDigest = digestBytes(text)
    const whole = { act, limits: undefined, argumentsDigest }
    const order = gateway.compose({ connection, claims: { ...whole, ...claims } })
    const batch = gateway.sendIntents([order])
    gateway.sendBody(order, connection, Buffer.from(text))
    gateway.commit(batch)
    return (await gateway.result(order.id)).head.code
  }
  expect(await refused('oauth_refresh', {})).toBe('intent_refused')
  expect(await refused('oauth_begin', { argumentsDigest: undefined })).toBe('intent_refused')
  expect(await refused('oauth_finish', { argumentsDigest: digestBytes('x') })).toBe(
    'intent_refused',
  )
  expect(await refused('oauth_begin', {})).toBeUndefined()
})

test.each<[string, Record<string, unknown>]>([
  ['a redirect over plain http to another machine', { redirectUri: 'http://example.com/cb' }],
  ['a redirect with a fragment', { redirectUri: 'https://example.com/cb#x' }],
  ['a state that can be guessed', { state: '12345' }],
  ['a metadata document over plain http', { clientMetadataUrl: 'http://127.0.0.1:1/client.json' }],
  ['a metadata document at the root', { clientMetadataUrl: 'https://sallyport.example/' }],
  ['a scope that is two', { oauthScope: ['a b'] }],
  ['another grant', { grant: 'password' }],
])('nothing is begun with %s', async (_what, changed) => {
  await start()
  expect((await world.begin(world.request(changed))).head).toEqual({
    verdict: 'not_sent',
    code: 'bad_request',
  })
  expect(world.mcp.requests).toEqual([])
})
