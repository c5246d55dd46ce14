/** What somebody could do who writes the database and signs orders: nothing stored goes where its seal does not let it. */
import { digestBytes } from '@sallyport/protocol/node'
import { afterEach, expect, test } from 'vitest'
import { sealForTest } from '../../apps/worker/src/testing/scripted-gateway.ts'
import { createVaultKey } from '../../apps/worker/src/testing/worker-under-test.ts'
import { OAuthWorld, redirectUri } from './oauth-world.ts'

let world: OAuthWorld
let evil: OAuthWorld
const start = async (): Promise<void> => {
  world = await OAuthWorld.start()
  evil = await OAuthWorld.start()
}
afterEach(async () => {
  await world.stop()
  await evil.stop()
})

/** The connection as it is, but to another server. */
const astray = () => {
  const { connectionId, connectionRevision: revision, scope } = world.connection.claims
  const { key } = world.worker
  const elsewhere = sealForTest({ url: evil.mcp.url, key, connectionId, revision, scope })
  const { endpointDigest, endpointClear } = elsewhere.claims
  return {
    claims: { ...world.connection.claims, endpointDigest, endpointClear },
    endpoint: elsewhere.endpoint,
    credential: world.connection.credential,
  }
}
const isUntouched = () => {
  expect(evil.server.requests).toEqual([])
  expect(evil.mcp.requests.map(({ token }) => token).filter(Boolean)).toEqual([])
}

test('a token goes to no other server', async () => {
  await start()
  await world.connect()
  const own = world.connection
  world.connection = astray()
  expect((await world.list()).code).toBe('destination_refused')
  expect((await world.refresh()).head).toEqual({ verdict: 'not_sent', code: 'destination_refused' })
  expect((await world.begin()).code).toBe('destination_refused')
  isUntouched()
  world.connection = own
  expect((await world.list()).code).toBeUndefined()
})

test('a code goes to the server it was begun with, whatever the endpoint has become', async () => {
  await start()
  const brought = await world.visit()
  const own = world.connection
  world.connection = astray()
  expect((await world.finish(brought)).code).toBe('destination_refused')
  isUntouched()
  world.connection = own
  expect((await world.finish(brought)).answer?.kind).toBe('granted')
})

const secret = { clientId: 'typed', clientSecret: 's3cret-s3cret' }

test.each([
  ['its server', () => ({ urls: [world.mcp.url] }), 'destination_refused'],
  ['its issuer', () => ({ urls: [], issuer: world.server.issuer }), 'oauth_client_mismatch'],
] as const)('a client bound to %s goes to no other', async (_what, bound, code) => {
  await start()
  world.server.clients.set('typed', { secret: secret.clientSecret, redirectUris: [redirectUri] })
  const client = world.sealClient(secret, bound())
  const own = world.connection
  world.connection = astray()
  expect((await world.begin(world.request({ client }))).code).toBe(code)
  const request = { grant: 'client_credentials', client, freshCredentialId: 'c', oauthScope: [] }
  expect((await world.act('oauth_begin', request)).code).toBe(code)
  expect(evil.server.asked('/token')).toEqual([])
  world.connection = own
  expect((await world.connect(world.request({ client }))).account).toBe('first')
})

test('a client opens in its own row only, and is what stands beside it', async () => {
  await start()
  const client = world.sealClient(secret, { issuer: world.server.issuer })
  const begin = async (changed: object) =>
    (await world.begin(world.request({ client: { ...client, ...changed } }))).code
  expect(await begin({ id: 'oac_other' })).toMatch(/^seal_/)
  expect(await begin({ version: 2 })).toMatch(/^seal_/)
  expect(await begin({ scope: 'project:x' })).toMatch(/^seal_/)
  expect(await begin({ issuer: undefined })).toBe('seal_mismatch')
  expect(await begin({ issuer: evil.server.issuer })).toBe('seal_mismatch')
  expect(await begin({})).toBeUndefined()
})

test('what stands beside a credential must be what is inside', async () => {
  await start()
  world.server.switches.tells = 'members'
  await world.connect()
  const own = world.connection
  const { credentialClear } = own.claims
  const { oauth } = credentialClear ?? {}
  for (const changed of [
    { issuerHost: 'elsewhere.example' },
    { refreshable: false },
    { expiresAt: Date.now() + 10 ** 9 },
    { account: 'Mallory' },
    { oauthScope: 'everything' },
  ]) {
    const clear = { ...credentialClear, oauth: { ...oauth, ...changed } }
    world.connection = { ...own, claims: { ...own.claims, credentialClear: clear as never } }
    expect((await world.list()).code).toBe('seal_mismatch')
    expect((await world.refresh()).code).toBe('seal_mismatch')
  }
  const bare = { bearer: true, headerNames: [] }
  world.connection = { ...own, claims: { ...own.claims, credentialClear: bare } }
  expect((await world.list()).code).toBe('seal_mismatch')
  world.connection = own
  expect((await world.list()).code).toBeUndefined()
})

test('a credential sealed to another key, or moved, is not renewed', async () => {
  await start()
  await world.connect()
  const own = world.connection
  const moved = { ...own, claims: { ...own.claims, credentialVersion: 2 } }
  world.connection = moved
  expect((await world.refresh()).code).toMatch(/^seal_/)
  const { url } = { url: world.mcp.url }
  const other = sealForTest({ url, token: 'at-12345678', key: createVaultKey() })
  const credential = other.credential ?? ''
  const credentialDigest = digestBytes(credential)
  world.connection = { ...own, credential, claims: { ...own.claims, credentialDigest } }
  expect((await world.refresh()).code).toMatch(/^seal_/)
  expect(world.server.asked('/token')).toHaveLength(1)
})

test('a token a person typed is not renewed', async () => {
  await start()
  const { claims, credential, endpoint } = sealForTest({
    url: world.mcp.url,
    token: 'typed-12345678',
    key: world.worker.key,
  })
  world.connection = { claims, credential, endpoint }
  expect((await world.refresh()).head).toEqual({
    verdict: 'not_sent',
    code: 'oauth_not_refreshable',
  })
})

test('the answer to a call is searched for the access token', async () => {
  await start()
  await world.connect()
  const token = world.server.grants.issued.find((one) => one.startsWith('at-')) ?? ''
  const { tools } = world.mcp.upstream
  const [echo] = tools.filter(({ name }) => name === 'echo')
  expect(echo).toBeDefined()
  expect((await world.call('echo', { text: `it was ${token}` })).code).toBe('credential_in_result')
  expect((await world.call('echo', { text: 'it was nothing' })).code).toBeUndefined()
})
