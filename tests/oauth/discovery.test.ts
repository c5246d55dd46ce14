/** From the MCP server to the authorization server: where it looks, in which order, and what it refuses to believe. */
import type { ErrorCode } from '@sallyport/protocol'
import { afterEach, expect, test } from 'vitest'
import { OAuthWorld, redirectUri, type WorldOptions } from './oauth-world.ts'
import { answer } from './scripted-faults.ts'

let world: OAuthWorld
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
afterEach(() => world.stop())

const pathsOf = (requests: readonly { readonly path: string }[]) => requests.map(({ path }) => path)
const wellKnown = '/.well-known/oauth-protected-resource'

test.each<[string, WorldOptions['resource'], readonly string[]]>([
  ['the challenge names', { metadataAt: '/custom/meta.json' }, ['/custom/meta.json']],
  ['its path is inserted', { challenge: () => undefined }, [`${wellKnown}/mcp`]],
  [
    'the host has it',
    {
      challenge: () => 'Basic realm="x"',
      metadataAt: wellKnown,
      metadata: ({ origin, switches: { issuers } }) => ({
        ...{ resource: origin, authorization_servers: issuers },
      }),
    },
    [`${wellKnown}/mcp`, wellKnown],
  ],
])('metadata of the resource is where %s', async (_where, resource, paths) => {
  const { mcp } = await start({ resource: resource ?? {} })
  await world.connect()
  expect(pathsOf(mcp.requests).slice(0, 1 + paths.length)).toEqual(['/mcp', ...paths])
  expect((await world.call('counter_read')).verdict).toBe('result')
})

const places = {
  oauth: '/.well-known/oauth-authorization-server',
  openid: '/.well-known/openid-configuration',
}

test.each<[path: string, metadata: 'oauth' | 'openid-inserted' | 'openid-appended', string[]]>([
  ['', 'oauth', [places.oauth]],
  ['', 'openid-inserted', [places.oauth, places.openid]],
  ['/tenant1', 'oauth', [`${places.oauth}/tenant1`]],
  ['/tenant1', 'openid-inserted', [`${places.oauth}/tenant1`, `${places.openid}/tenant1`]],
  [
    '/tenant1',
    'openid-appended',
    [`${places.oauth}/tenant1`, `${places.openid}/tenant1`, `/tenant1${places.openid}`],
  ],
])('metadata of the issuer "%s" is %s', async (path, metadata, paths) => {
  const { server } = await start({ server: { path, metadata } })
  expect((await world.connect()).account).toBe('first')
  expect(pathsOf(server.requests).slice(0, paths.length)).toEqual(paths)
})

test('a page where metadata could be is none', async () => {
  const { server, mcp } = await start({
    server: { metadata: 'openid-inserted' },
    resource: { challenge: () => undefined },
  })
  server.fail(places.oauth, answer(200, '<html>hello</html>'))
  mcp.faults.set(`${wellKnown}/mcp`, answer(404))
  mcp.switches.metadataAt = wellKnown
  expect((await world.connect()).account).toBe('first')
})

test.each<[string, WorldOptions, ErrorCode]>([
  ['says nowhere who gives tokens', { resource: { metadataAt: undefined } }, 'oauth_not_offered'],
  [
    'names a place where nothing is',
    { resource: { challenge: ({ origin }) => `Bearer resource_metadata="${origin}/nothing"` } },
    'oauth_not_offered',
  ],
  ['names no authorization server', { resource: { issuers: [] } }, 'oauth_metadata_invalid'],
  [
    'is another resource',
    {
      resource: {
        metadata: ({ switches: { issuers } }) => ({
          ...{ resource: 'https://evil.example/mcp', authorization_servers: issuers },
        }),
      },
    },
    'oauth_resource_mismatch',
  ],
  [
    'is a resource beside it',
    {
      resource: {
        metadata: ({ origin, switches: { issuers } }) => ({
          ...{ resource: `${origin}/mc`, authorization_servers: issuers },
        }),
      },
    },
    'oauth_resource_mismatch',
  ],
  [
    'is a resource below it',
    {
      resource: {
        metadata: ({ url, switches: { issuers } }) => ({
          ...{ resource: `${url}/more`, authorization_servers: issuers },
        }),
      },
    },
    'oauth_resource_mismatch',
  ],
  ['names issuers that are none', { resource: { issuers: ['ftp://x'] } }, 'oauth_metadata_invalid'],
  [
    'names an issuer with a query',
    { resource: { issuers: ['https://login.example/?t=1'] } },
    'oauth_metadata_invalid',
  ],
])('a server that %s is refused', async (_what, options, code) => {
  await start(options)
  expect((await world.begin()).code).toBe(code)
})

const without = (name: string) => (metadata: Record<string, unknown>) => {
  const { [name]: _, ...rest } = metadata
  return rest
}
const having = (changed: Record<string, unknown>) => (metadata: Record<string, unknown>) => ({
  ...metadata,
  ...changed,
})

test.each<[string, WorldOptions['server'], ErrorCode]>([
  ['publishes nothing', { metadata: 'nowhere' }, 'oauth_metadata_invalid'],
  [
    'names another issuer',
    { alter: having({ issuer: 'https://honest.example' }) },
    'oauth_issuer_mismatch',
  ],
  [
    'names itself with one slash more',
    { alter: (metadata) => ({ ...metadata, issuer: `${metadata['issuer']}/` }) },
    'oauth_issuer_mismatch',
  ],
  ['names no issuer', { alter: without('issuer') }, 'oauth_issuer_mismatch'],
  ['has no token endpoint', { alter: without('token_endpoint') }, 'oauth_metadata_invalid'],
  [
    'has no authorization endpoint',
    { alter: without('authorization_endpoint') },
    'oauth_metadata_invalid',
  ],
  [
    'sends people to a script',
    { alter: having({ authorization_endpoint: 'javascript:alert(1)//' }) },
    'oauth_metadata_invalid',
  ],
  [
    'sends people to plain http',
    { alter: having({ authorization_endpoint: 'http://login.example/authorize' }) },
    'oauth_metadata_invalid',
  ],
  [
    'has a token endpoint with a password',
    { alter: having({ token_endpoint: 'https://a:b@login.example/token' }) },
    'oauth_metadata_invalid',
  ],
  ['says nothing of PKCE', { challengeMethods: undefined }, 'oauth_no_pkce'],
  ['knows plain PKCE only', { challengeMethods: ['plain'] }, 'oauth_no_pkce'],
  [
    'lists scopes that are none',
    { alter: having({ scopes_supported: [7] }) },
    'oauth_metadata_invalid',
  ],
  ['registers nobody', { register: undefined }, 'oauth_no_registration'],
  [
    'registers another redirect',
    {
      register: (request) => ({
        ...{ client_id: 'c', client_secret: 'rs-1234567890', ...request },
        redirect_uris: ['https://evil.example'],
      }),
    },
    'oauth_registration_refused',
  ],
  [
    'registers for a method that needs a secret, without one',
    { register: () => ({ client_id: 'c', token_endpoint_auth_method: 'client_secret_basic' }) },
    'oauth_registration_refused',
  ],
  [
    'registers for a method that nobody asked for',
    {
      register: () => ({
        ...{ client_id: 'c', client_secret: 'rs-1234567890' },
        token_endpoint_auth_method: 'tls_client_auth',
      }),
    },
    'oauth_registration_refused',
  ],
  [
    'registers nothing that could be sent',
    { register: () => ({ client_id: 'c\r\n', client_secret: 'rs-1234567890' }) },
    'oauth_registration_refused',
  ],
])('an authorization server that %s is refused', async (_what, server, code) => {
  await start({ server: server ?? {} })
  expect((await world.begin()).head).toEqual({ verdict: 'result', code })
})

test('a registration that is refused is told as that, one that fails as trouble', async () => {
  const { server } = await start()
  server.fail('/register', answer(400, { error: 'invalid_redirect_uri' }))
  expect((await world.begin()).code).toBe('oauth_registration_refused')
  server.fail('/register', answer(503))
  expect((await world.begin()).head).toEqual({ verdict: 'uncertain', code: 'oauth_unavailable' })
  expect((await world.begin()).answer?.kind).toBe('begun')
})

test('metadata that is broken for now is trouble, and no reason to look elsewhere', async () => {
  const { server } = await start({ server: { path: '/tenant1' } })
  server.fail(`${places.oauth}/tenant1`, answer(503), true)
  expect((await world.begin()).head).toEqual({ verdict: 'uncertain', code: 'upstream_http_5xx' })
  expect(pathsOf(server.requests)).toEqual([`${places.oauth}/tenant1`])
})

test('another issuer than before needs a person, who may agree to it', async () => {
  const { server, mcp } = await start()
  const expectedIssuer = server.issuer
  expect((await world.begin(world.request({ expectedIssuer }))).answer?.issuer).toBe(expectedIssuer)
  const other = await OAuthWorld.start()
  mcp.switches.issuers = [other.server.issuer]
  expect((await world.begin(world.request({ expectedIssuer }))).code).toBe('oauth_issuer_changed')
  expect(other.server.requests).toEqual([])
  expect((await world.begin()).answer?.issuer).toBe(other.server.issuer)
  mcp.switches.issuers = [other.server.issuer, expectedIssuer]
  expect((await world.begin(world.request({ expectedIssuer }))).answer?.issuer).toBe(expectedIssuer)
  await other.stop()
})

test('a client of one authorization server is not used at another', async () => {
  const { server, mcp } = await start()
  server.clients.set('typed', { redirectUris: [redirectUri] })
  const client = world.sealClient({ clientId: 'typed' }, { issuer: server.issuer })
  expect((await world.begin(world.request({ client }))).answer?.kind).toBe('begun')
  const other = await OAuthWorld.start()
  mcp.switches.issuers = [other.server.issuer]
  expect((await world.begin(world.request({ client }))).code).toBe('oauth_client_mismatch')
  expect(other.server.asked('/register')).toEqual([])
  await other.stop()
})

test('what a guest must not reach is named: every server on the way', async () => {
  const { server, mcp } = await start()
  const far = { token_endpoint: 'https://tokens.example:8443/t', jwks_uri: 'https://keys.example/' }
  server.switches.alter = having(far)
  const { answer: begun } = await world.begin()
  const ports = [mcp.origin, server.origin].map((origin) => Number(new URL(origin).port))
  expect(begun?.places).toEqual([
    ...ports.map((port) => ({ scheme: 'http', host: '127.0.0.1', port })),
    { scheme: 'https', host: 'tokens.example', port: 8443 },
    { scheme: 'https', host: 'keys.example', port: 443 },
  ])
})

test('the resource is sent as it is published, to the letter', async () => {
  const { mcp, server } = await start({
    resource: {
      metadata: ({ origin, switches: { issuers } }) => ({
        ...{ resource: origin, authorization_servers: issuers },
      }),
    },
  })
  const { answer: begun } = await world.begin()
  expect(new URL(begun?.authorizeUrl ?? '').searchParams.get('resource')).toBe(mcp.origin)
  await world.connect()
  await world.refresh()
  expect(server.asked('/token').map(({ form }) => form.get('resource'))).toEqual([
    mcp.origin,
    mcp.origin,
  ])
})
