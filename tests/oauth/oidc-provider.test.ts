/** The same flows against a real authorization server, whose rules are not ours. */
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { OAuthWorld, redirectUri } from './oauth-world.ts'
import { type ProviderOptions, RealProvider } from './real-provider.ts'

let world: OAuthWorld
let provider: RealProvider
afterEach(async () => {
  await world.stop()
  await provider.close()
})

async function start(options: Omit<ProviderOptions, 'resource'> = {}): Promise<void> {
  const accepted = new Set<string>()
  world = await OAuthWorld.start({
    resource: {
      challenge: ({ metadataUrl }) => `Bearer resource_metadata="${metadataUrl}"`,
      metadata: ({ url, switches: { issuers } }) => ({
        ...{ resource: url, authorization_servers: issuers, scopes_supported: ['read', 'write'] },
      }),
      lets: (token) => accepted.has(token ?? ''),
    },
  })
  provider = await RealProvider.start({ resource: world.mcp.url, ...options })
  world.mcp.switches.issuers = [provider.issuer]
  // The check of the MCP server is asynchronous here: what came last is judged before it is asked.
  judge = async (token) => {
    if (await provider.accepts(token, world.mcp.url)) accepted.add(token)
    return accepted.has(token)
  }
}
let judge: (token: string) => Promise<boolean>

async function visit(request = world.request()): Promise<Record<string, unknown>> {
  const { answer, code } = await world.begin(request)
  if (!answer) throw new Error(`not begun: ${code}`)
  const {
    code: authorizationCode,
    error,
    iss,
  } = await provider.visit(answer.authorizeUrl, redirectUri)
  const brought = { state: request['state'], pending: answer.pending }
  return JSON.parse(JSON.stringify({ ...brought, code: authorizationCode, error, iss }))
}

async function connect(request = world.request()) {
  const { answer, code } = await world.finish(await visit(request))
  if (!answer) throw new Error(`not granted: ${code}`)
  world.adopt(answer)
  return answer
}

/** The MCP server is told the token by the call itself: once refused, judged, then let in or not. */
async function isLetIn(): Promise<boolean> {
  await world.list()
  const token = world.mcp.requests.findLast(({ token }) => token !== undefined)?.token
  return token !== undefined && (await judge(token)) && (await world.list()).code === undefined
}

test('registers, signs in, and is let in with a token for this resource', async () => {
  await start()
  const granted = await connect()
  expect(granted.clear.oauth).toMatchObject({
    issuerHost: new URL(provider.issuer).host,
    refreshable: true,
    oauthScope: expect.stringMatching(/read write/),
  })
  expect(await isLetIn()).toBe(true)
})

test('renews, with a new refresh token each time; an old one ends the grant', async () => {
  await start()
  await connect()
  const old = world.connection
  for (const version of [2, 3]) {
    const { answer } = await world.refresh()
    expect(answer?.credentialVersion).toBe(version)
    world.adopt(answer as never)
    expect(await isLetIn()).toBe(true)
  }
  const newest = world.connection
  world.connection = old
  expect((await world.refresh()).head).toEqual({ verdict: 'result', code: 'oauth_invalid_grant' })
  world.connection = newest
  expect((await world.refresh()).code).toBe('oauth_invalid_grant')
})

test('knows by the id token whether it is the same account', async () => {
  await start()
  const openid = { oauthScope: ['openid'] }
  const first = await connect(world.request(openid))
  expect(first.account).toBe('first')
  expect(await connect(world.request(openid))).toMatchObject({
    account: 'same',
    credentialId: first.credentialId,
    credentialVersion: 2,
  })
  const { answer } = await world.refresh()
  expect(answer?.account).toBe('same')
  provider.account = 'bob'
  expect(await connect(world.request(openid))).toMatchObject({ account: 'other' })
})

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const privateKeyPem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const keys = { keys: [{ ...key.publicKey.export({ format: 'jwk' }), kid: 'k7', use: 'sig' }] }
const grants = ['authorization_code', 'refresh_token', 'client_credentials']
const clientSecret = 's3cret-s3cret/+ %'
const typed = {
  client_id: 'typed',
  grant_types: grants,
  redirect_uris: [redirectUri],
  response_types: ['code'],
}

test.each([
  ['client_secret_basic', { client_secret: clientSecret }, { clientSecret }],
  ['client_secret_post', { client_secret: clientSecret }, { clientSecret }],
  ['private_key_jwt', { jwks: keys }, { privateKeyPem, keyId: 'k7' }],
] as const)('a client of a person signs in and renews by %s', async (method, known, secret) => {
  await start({ clients: [{ ...typed, ...known, token_endpoint_auth_method: method }] })
  const client = world.sealClient({ clientId: 'typed', ...secret, authMethod: method })
  await connect(world.request({ client }))
  expect(await isLetIn()).toBe(true)
  expect((await world.refresh()).answer?.credentialVersion).toBe(2)
  const wrong = world.sealClient({ clientId: 'typed', clientSecret: 'wrong-secret' })
  expect((await world.finish(await visit(world.request({ client: wrong })))).head).toEqual({
    verdict: 'result',
    code: 'oauth_invalid_client',
  })
})

test.each([
  ['client_secret_basic', { client_secret: clientSecret }, { clientSecret }],
  ['private_key_jwt', { jwks: keys }, { privateKeyPem, keyId: 'k7' }],
] as const)('client credentials by %s', async (method, known, secret) => {
  await start({ clients: [{ ...typed, ...known, token_endpoint_auth_method: method }] })
  const client = world.sealClient({ clientId: 'typed', ...secret, authMethod: method })
  const request = {
    grant: 'client_credentials',
    client,
    freshCredentialId: 'crd_1',
    oauthScope: [],
  }
  const { answer } = await world.act('oauth_begin', request)
  world.adopt(answer as never)
  expect(await isLetIn()).toBe(true)
  const renewed = await world.refresh()
  expect(renewed.answer).toMatchObject({ credentialId: 'crd_1', credentialVersion: 2 })
})

test('is known by a metadata document', async () => {
  const clientMetadataUrl = 'https://sallyport.example/oauth/client.json'
  const document = {
    client_id: clientMetadataUrl,
    client_name: 'Sallyport',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
    application_type: 'native',
  }
  await start({ documents: { [clientMetadataUrl]: document } })
  const request = world.request({ clientMetadataUrl })
  const { answer } = await world.begin(request)
  const address = new URL(answer?.authorizeUrl ?? '')
  expect(address.searchParams.get('client_id')).toBe(clientMetadataUrl)
  expect(answer?.registration).toBeUndefined()
  await connect(world.request({ clientMetadataUrl }))
  expect(await isLetIn()).toBe(true)
})

test('a person who says no is told as that', async () => {
  await start()
  provider.account = undefined
  expect((await world.finish(await visit())).head).toEqual({
    verdict: 'not_sent',
    code: 'oauth_denied',
  })
})

test('a resource the server does not know is refused there', async () => {
  await start()
  world.mcp.switches.metadata = ({ origin, switches: { issuers } }) => ({
    ...{ resource: origin, authorization_servers: issuers },
  })
  expect((await world.finish(await visit())).code).toBe('oauth_refused')
})

test('its metadata is read once for a sign-in, a refresh and a revocation, which ends the grant', async () => {
  await start()
  await connect()
  world.adopt((await world.refresh()).answer as never)
  expect((await world.act('oauth_revoke')).answer).toEqual({ kind: 'revoked' })
  expect(provider.asked.filter((path) => path.startsWith('/.well-known/'))).toHaveLength(1)
  expect((await world.refresh()).code).toBe('oauth_invalid_grant')
})

test('a token endpoint that moves on its host is followed, to another host it is not', async () => {
  await start()
  await connect()
  provider.moved.set('token_endpoint', '/oauth2/token')
  expect((await world.refresh()).head).toEqual({ verdict: 'uncertain', code: 'oauth_protocol' })
  world.adopt((await world.refresh()).answer as never)
  expect(provider.asked.at(-1)).toBe('/oauth2/token')
  await world.restartWorker()
  provider.moved.set('token_endpoint', 'http://127.0.0.1:1/token')
  expect((await world.refresh()).head).toEqual({
    ...{ verdict: 'not_sent', code: 'oauth_server_changed' },
  })
  // Control: it is back, and nothing of the grant was lost.
  provider.moved.clear()
  await world.restartWorker()
  expect((await world.refresh()).answer?.credentialVersion).toBe(3)
})

test('a code is good once, and with its own verifier only', async () => {
  await start()
  const one = await visit()
  const other = await visit()
  expect((await world.finish({ ...one, code: other['code'] })).code).toBe('oauth_invalid_grant')
  const brought = await visit()
  expect((await world.finish(brought)).answer?.kind).toBe('granted')
  expect((await world.finish(brought)).code).toBe('oauth_invalid_grant')
})
