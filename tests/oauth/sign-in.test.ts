/** Signing in where everybody keeps to the rules: clients, scopes, accounts. */
import { generateKeyPairSync } from 'node:crypto'
import type { SealedOAuthClient } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { OAuthWorld, redirectUri, type WorldOptions } from './oauth-world.ts'
import { registeredSecret } from './scripted-authorization-server.ts'

let world: OAuthWorld
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
afterEach(() => world.stop())

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const privateKeyPem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const publicKeyPem = key.publicKey.export({ type: 'spki', format: 'pem' }).toString()

test('from a 401 to a call that is let in', async () => {
  const { mcp, server } = await start()
  expect((await world.list()).code).toBe('upstream_http_401')
  const granted = await world.connect()
  expect(granted).toMatchObject({
    account: 'first',
    credentialVersion: 1,
    clear: {
      bearer: true,
      headerNames: [],
      oauth: { issuerHost: new URL(server.issuer).host, refreshable: true },
    },
  })
  expect((await world.call('counter_read')).verdict).toBe('result')
  expect(mcp.upstream.count('tools/call')).toBe(1)
})

test('the address holds everything a server needs, and keeps what the endpoint had', async () => {
  const { server, mcp } = await start()
  const request = world.request()
  const { answer } = await world.begin(request)
  const address = new URL(answer?.authorizeUrl ?? '')
  expect(`${address.origin}${address.pathname}`).toBe(`${server.issuer}/authorize`)
  expect(Object.fromEntries(address.searchParams)).toEqual({
    theme: 'dark',
    response_type: 'code',
    client_id: 'registered',
    redirect_uri: redirectUri,
    state: request['state'],
    code_challenge: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    code_challenge_method: 'S256',
    resource: mcp.url,
  })
  expect(answer?.issuer).toBe(server.issuer)
  expect(answer?.expiresAt).toBeGreaterThan(Date.now() + 14 * 60_000)
})

test('what leaves the worker holds no verifier, no secret and no token', async () => {
  const { server } = await start()
  await world.connect()
  await world.refresh()
  const [redeemed, renewed] = server.asked('/token').map(({ form }) => form)
  const secrets = [
    redeemed?.get('code_verifier'),
    renewed?.get('refresh_token'),
    ...server.grants.issued,
    registeredSecret,
  ]
  expect(secrets).toHaveLength(7)
  const left = [...world.told, world.worker.log].join('\n')
  for (const secret of secrets) {
    expect(secret?.length).toBeGreaterThan(8)
    expect(left).not.toContain(secret)
  }
})

test('code, verifier, redirect and resource go to the token endpoint', async () => {
  const { server, mcp } = await start()
  await world.connect()
  const [request] = server.asked('/token')
  expect(Object.fromEntries(request?.form ?? [])).toEqual({
    grant_type: 'authorization_code',
    code: expect.stringMatching(/^code-/),
    redirect_uri: redirectUri,
    code_verifier: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    resource: mcp.url,
  })
  expect(request?.headers.authorization).toMatch(/^Basic /)
})

test.each([
  [['client_secret_basic', 'none'], /^Basic /, {}],
  [['client_secret_post'], undefined, { client_id: 'registered', client_secret: 'rs-1234567890' }],
  [['none'], undefined, { client_id: 'registered' }],
  [undefined, /^Basic /, {}],
] as const)('of %j it takes one, and registers for it', async (authMethods, header, form) => {
  const { server } = await start({ server: { authMethods } })
  await world.connect()
  const [request] = server.asked('/token')
  expect(request?.form.get('client_secret')).toBe(
    (form as Record<string, string>)['client_secret'] ?? null,
  )
  expect(Object.fromEntries(request?.form ?? [])).toMatchObject(form)
  if (header) expect(request?.headers.authorization).toMatch(header)
  else expect(request?.headers.authorization).toBeUndefined()
})

test.each([
  ['native', redirectUri],
  ['web', 'https://sallyport.example/oauth/callback'],
])('registers as a %s application where it is one', async (type, uri) => {
  const { server } = await start()
  const { answer } = await world.begin(world.request({ redirectUri: uri }))
  expect(JSON.parse(server.asked('/register')[0]?.body ?? '')).toEqual({
    client_name: 'Sallyport',
    redirect_uris: [uri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'client_secret_basic',
    application_type: type,
  })
  expect(answer?.registration).toMatchObject({ id: 'oac_fresh', version: 1, issuer: server.issuer })
})

test('a registration is used again for the same issuer and redirect, and for no other', async () => {
  const { server } = await start()
  const { answer } = await world.begin()
  const registrations = [answer?.registration as SealedOAuthClient]
  const again = await world.begin(world.request({ registrations }))
  expect(again.answer?.registration).toBeUndefined()
  expect(server.asked('/register')).toHaveLength(1)
  expect(await world.connect(world.request({ registrations }))).toMatchObject({ account: 'first' })

  const elsewhere = { registrations, redirectUri: 'http://127.0.0.1:7401/oauth/callback' }
  expect((await world.begin(world.request(elsewhere))).answer?.registration).toBeDefined()
  server.switches.path = '/tenant1'
  world.mcp.switches.issuers = [server.issuer]
  expect((await world.begin(world.request({ registrations }))).answer?.registration).toBeDefined()
  expect(server.asked('/register')).toHaveLength(1)
})

test('a registration that is over is not used', async () => {
  const { server } = await start()
  const inTen = Math.floor(Date.now() / 1_000) + 600
  server.switches.register = (request) => ({
    ...{ client_id: 'c', client_secret: 'rs-1234567890' },
    ...{ ...request, client_secret_expires_at: inTen },
  })
  const { answer } = await world.begin()
  const registrations = [answer?.registration as SealedOAuthClient]
  await world.begin(world.request({ registrations }))
  expect(server.asked('/register')).toHaveLength(2)
})

test('a metadata document goes before a registration where the server takes one', async () => {
  const clientMetadataUrl = 'https://sallyport.example/oauth/client.json'
  const { server } = await start({ server: { takesMetadataDocuments: true } })
  await world.connect(world.request({ clientMetadataUrl }))
  expect(server.asked('/register')).toEqual([])
  expect(server.asked('/token')[0]?.form.get('client_id')).toBe(clientMetadataUrl)

  server.switches.takesMetadataDocuments = false
  await world.restartWorker()
  await world.begin(world.request({ clientMetadataUrl }))
  expect(server.asked('/register')).toHaveLength(1)
})

test.each([
  ['by post', { clientSecret: 's3cret:ä %+', authMethod: 'client_secret_post' }, {}],
  ['by basic', { clientSecret: 's3cret:ä %+' }, {}],
  ['by a key', { privateKeyPem, keyId: 'k7' }, { publicKeyPem }],
  ['as a public one', {}, {}],
] as const)('a client that a person registered goes first, %s', async (_how, client, known) => {
  const clientMetadataUrl = 'https://sallyport.example/oauth/client.json'
  const { server } = await start({ server: { takesMetadataDocuments: true } })
  const { clientSecret: secret } = client as { clientSecret?: string }
  const redirectUris = [redirectUri]
  server.clients.set('typed:1', { ...known, redirectUris, ...(secret ? { secret } : {}) })
  const sealed = world.sealClient({ clientId: 'typed:1', ...client })
  await world.connect(world.request({ client: sealed, clientMetadataUrl }))
  expect((await world.call('counter_read')).verdict).toBe('result')
  expect(server.asked('/register')).toEqual([])
})

test('client credentials need nobody, and are renewed without a refresh token', async () => {
  const scopesSupported = ['read', 'write', 'offline_access']
  const { server, mcp } = await start({
    server: { authMethods: ['client_secret_basic'], scopesSupported },
  })
  server.clients.set('robot', { secret: 's3cret-s3cret' })
  mcp.switches.metadata = ({ url, switches: { issuers } }) => ({
    ...{ resource: url, authorization_servers: issuers, scopes_supported: ['read', 'write'] },
  })
  const client = world.sealClient({ clientId: 'robot', clientSecret: 's3cret-s3cret' })
  const request = {
    grant: 'client_credentials',
    client,
    freshCredentialId: 'crd_1',
    oauthScope: [],
  }
  const { answer } = await world.act('oauth_begin', request)
  expect(answer).toMatchObject({
    kind: 'granted',
    account: 'first',
    credentialId: 'crd_1',
    clear: { oauth: { refreshable: true, oauthScope: 'read write' } },
  })
  world.adopt(answer as never)
  expect((await world.call('counter_read')).verdict).toBe('result')
  const renewed = await world.refresh()
  expect(renewed.answer).toMatchObject({ credentialId: 'crd_1', credentialVersion: 2 })
  const [first, second] = server.asked('/token').map(({ form }) => Object.fromEntries(form))
  expect(first).toEqual({
    grant_type: 'client_credentials',
    resource: mcp.url,
    scope: 'read write',
  })
  expect(second).toEqual(first)
  world.adopt(renewed.answer as never)
  const again = await world.act('oauth_begin', { ...request, freshCredentialId: 'crd_2' })
  expect(again.answer).toMatchObject({
    account: 'same',
    credentialId: 'crd_1',
    credentialVersion: 3,
  })
})

test('client credentials by a signed assertion for this issuer', async () => {
  const { server } = await start({ server: { authMethods: ['private_key_jwt'] } })
  server.clients.set('robot', { publicKeyPem })
  const client = world.sealClient({ clientId: 'robot', privateKeyPem })
  const request = {
    grant: 'client_credentials',
    client,
    freshCredentialId: 'crd_1',
    oauthScope: [],
  }
  const { answer } = await world.act('oauth_begin', request)
  world.adopt(answer as never)
  expect((await world.call('counter_read')).verdict).toBe('result')
})

const scopes = (supported: readonly string[] | undefined, challenged?: string): WorldOptions => ({
  resource: {
    challenge: ({ metadataUrl }) =>
      `Bearer resource_metadata="${metadataUrl}"${challenged ? `, scope="${challenged}"` : ''}`,
    metadata: ({ url, switches: { issuers } }) => ({
      ...{ resource: url, authorization_servers: issuers },
      ...(supported ? { scopes_supported: supported } : {}),
    }),
  },
})

test.each<[string, WorldOptions, readonly string[], string | null]>([
  ['the challenge', scopes(['a', 'b'], 'c d'), [], 'c d'],
  ['what the resource supports', scopes(['a', 'b']), [], 'a b'],
  ['nothing', scopes(undefined), [], null],
  ['nothing of an empty list', scopes([]), [], null],
  ['the challenge and what was granted before', scopes(['a'], 'c'), ['b', 'c'], 'c b'],
  ['what was granted before', scopes(undefined), ['b'], 'b'],
])('asks for %s', async (_what, options, oauthScope, expected) => {
  await start(options)
  const { answer } = await world.begin(world.request({ oauthScope }))
  const address = new URL(answer?.authorizeUrl ?? '')
  expect(address.searchParams.get('scope')).toBe(expected)
  expect(address.searchParams.get('prompt')).toBeNull()
  expect(answer?.oauthScope ?? null).toBe(expected)
})

test.each([
  [['offline_access', 'a'], ['a'], 'a offline_access', 'consent'],
  [['a'], ['a'], 'a', null],
  [['offline_access'], undefined, null, null],
] as const)('of a server that knows %j asks %j as %s', async (known, supported, scope, prompt) => {
  await start({ ...scopes(supported), server: { scopesSupported: known } })
  const { searchParams } = new URL((await world.begin()).answer?.authorizeUrl ?? '')
  expect(searchParams.get('scope')).toBe(scope)
  expect(searchParams.get('prompt')).toBe(prompt)
})

test('a call that lacks a scope says which, and a new consent with both is let in', async () => {
  const { mcp } = await start(scopes(undefined, 'read'))
  await world.connect()
  expect((await world.call('counter_read')).verdict).toBe('result')
  mcp.switches.demands = 'write'
  const refused = await world.call('counter_read')
  expect(refused).toMatchObject({ code: 'upstream_scope_missing', requiredScope: 'write' })
  const granted = await world.connect(world.request({ oauthScope: ['read', 'write'] }))
  expect(granted.clear.oauth?.oauthScope).toBe('read write')
  expect((await world.call('counter_read')).code).toBeUndefined()
})

test.each<[string, (token: string | undefined) => string]>([
  ['does not say that a scope is lacking', () => 'Bearer scope="write"'],
  ['says another error', () => 'Bearer error="invalid_token", scope="write"'],
  ['says the token it was shown', (token) => `Bearer error="insufficient_scope", scope="${token}"`],
])('of a refusal that %s no scope is told', async (_what, refusal) => {
  const { mcp } = await start()
  await world.connect()
  expect((await world.call('counter_read')).verdict).toBe('result')
  mcp.switches.demands = 'write'
  mcp.switches.refusal = (_demands, token) => refusal(token)
  const refused = await world.call('counter_read')
  expect(refused.code).toBe('upstream_forbidden')
  expect(refused).not.toHaveProperty('requiredScope')
})

test('headers that a person typed go on beside the token', async () => {
  const { mcp } = await start({
    connection: { headers: [{ name: 'X-Team', value: 'blue-1234' }], credentialVersion: 4 },
  })
  const granted = await world.connect()
  expect(granted).toMatchObject({
    account: 'unproved',
    credentialVersion: 1,
    clear: { bearer: true, headerNames: ['X-Team'] },
  })
  await world.call('counter_read')
  expect(mcp.upstream.requests.at(-1)?.headers['x-team']).toBe('blue-1234')
})
