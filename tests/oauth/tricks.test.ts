/** Servers that try to lead the worker elsewhere. Each trick has its control in the flow that goes on afterwards. */
import type { ErrorCode } from '@sallyport/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { serverCertificate } from '../../apps/worker/src/testing/server-certificate.ts'
import { type Listening, listen } from './listen.ts'
import { OAuthWorld, type WorldOptions } from './oauth-world.ts'

let world: OAuthWorld | undefined
let trap: Listening
let caught: string[]
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
beforeEach(async () => {
  caught = []
  trap = await listen((request, response) => {
    caught.push(request.url ?? '')
    response.end('{}')
  })
})
afterEach(async () => {
  await world?.stop()
  world = undefined
  await trap.close()
})

const well = '/.well-known/'

test.each<[step: string, path: string, where: 'mcp' | 'server', code: ErrorCode]>([
  ['the first question', '/mcp', 'mcp', 'oauth_not_offered'],
  ['resource metadata', `${well}oauth-protected-resource/mcp`, 'mcp', 'oauth_not_offered'],
  ['server metadata', `${well}oauth-authorization-server`, 'server', 'oauth_metadata_invalid'],
  ['registration', '/register', 'server', 'upstream_protocol'],
])('a redirect of %s is not followed', async (_step, path, where, code) => {
  const { mcp, server } = await start()
  if (path === '/mcp') mcp.switches.metadataAt = undefined
  const redirect = { kind: 'redirect', to: `${trap.url}/caught` } as const
  if (where === 'mcp') mcp.faults.set(path, redirect)
  else server.fail(path, redirect)
  expect((await world?.begin())?.code).toBe(code)
  expect(caught).toEqual([])
})

test.each<[step: string, path: string, code: ErrorCode]>([
  ['the code', '/token', 'upstream_protocol'],
  ['the keys', '/jwks', 'oauth_identity_invalid'],
])('a redirect of %s while finishing is not followed', async (_step, path, code) => {
  const { server } = await start({ server: { tells: 'id_token' } })
  server.fail(path, { kind: 'redirect', to: `${trap.url}/caught` })
  expect((await world?.finish(await world.visit()))?.code).toBe(code)
  expect((await world?.connect())?.account).toBe('first')
  expect(caught).toEqual([])
})

test('a redirect of user info is not followed, and names nobody', async () => {
  const { server } = await start({ server: { tells: 'userinfo' } })
  server.fail('/userinfo', { kind: 'redirect', to: `${trap.url}/caught` })
  const granted = await world?.connect(world.request({ oauthScope: ['openid'] }))
  expect(granted?.clear.oauth).not.toHaveProperty('account')
  expect(caught).toEqual([])
})

test('a redirect of a refresh is not followed', async () => {
  const { server } = await start()
  await world?.connect()
  server.fail('/token', { kind: 'redirect', to: `${trap.url}/caught` })
  expect((await world?.refresh())?.head).toEqual({
    verdict: 'uncertain',
    code: 'upstream_protocol',
  })
  expect((await world?.refresh())?.answer?.credentialVersion).toBe(2)
  expect(caught).toEqual([])
})

const metadataServices = [
  'https://169.254.169.254/latest/meta-data/',
  'https://[fd00:ec2::254]/',
  'https://10.0.0.1/',
  'https://[::ffff:127.0.0.1]/',
  'https://0x7f000001.nip.invalid/',
]
const plain = ['http://169.254.169.254/latest/', 'http://10.0.0.1:8080/', 'http://localhost/']

test.each([
  ...metadataServices.map((url) => [url, /^upstream_(?:blocked_address|dns)$/] as const),
  ...plain.map((url) => [url, /^oauth_metadata_invalid$/] as const),
])('metadata of the resource at %s is not fetched', async (url, code) => {
  await start({ resource: { challenge: () => `Bearer resource_metadata="${url}"` } })
  expect((await world?.begin())?.code).toMatch(code)
})

test.each([
  ...metadataServices.map((url) => [url, /^upstream_(?:blocked_address|dns)$/] as const),
  ...plain.map((url) => [url, /^oauth_metadata_invalid$/] as const),
])('an authorization server at %s is not asked', async (url, code) => {
  await start({ resource: { issuers: [url] } })
  expect((await world?.begin())?.code).toMatch(code)
})

test.each(metadataServices)('a code does not go to %s', async (url) => {
  const { server } = await start()
  server.switches.alter = (metadata) => ({ ...metadata, token_endpoint: url })
  const told = await world?.finish(await world.visit())
  expect(told?.head.verdict).toBe('not_sent')
  expect(told?.code).toMatch(/^upstream_(?:blocked_address|dns)$/)
})

test.each(metadataServices)('a token does not go to %s to be revoked there', async (url) => {
  const { server } = await start()
  server.switches.alter = (metadata) => ({ ...metadata, revocation_endpoint: url })
  await world?.connect()
  const told = await world?.act('oauth_revoke')
  expect(told?.head.verdict).toBe('not_sent')
  expect(told?.code).toMatch(/^upstream_(?:blocked_address|dns)$/)
})

test('a token does not go to another host that the server names later to revoke it at', async () => {
  const { server } = await start()
  await world?.connect()
  server.switches.alter = (metadata) => ({ ...metadata, revocation_endpoint: `${trap.url}/gone` })
  await world?.restartWorker()
  expect((await world?.act('oauth_revoke'))?.code).toBe('oauth_server_changed')
  expect(server.asked('/revoke')).toEqual([])
  expect(caught).toEqual([])
})

test('a redirect of a revocation is not followed', async () => {
  const { server } = await start()
  await world?.connect()
  server.fail('/revoke', { kind: 'redirect', to: `${trap.url}/caught` })
  expect((await world?.act('oauth_revoke'))?.code).toBe('upstream_protocol')
  expect(caught).toEqual([])
})

test('a listener of our own is no authorization server', async () => {
  const { port } = new URL(trap.url)
  const own = { host: '127.0.0.1', port: Number(port) }
  const { server } = await start({ hello: { ownListeners: [own] } })
  server.switches.alter = (metadata) => ({ ...metadata, token_endpoint: `${trap.url}/token` })
  expect((await world?.finish(await world.visit()))?.head).toEqual({
    verdict: 'not_sent',
    code: 'upstream_blocked_address',
  })
  expect(caught).toEqual([])
})

test('where local upstreams are not allowed nothing of this machine is asked', async () => {
  await start({ worker: { allowLocalUpstreams: false } })
  expect((await world?.begin())?.code).toBe('local_upstreams_off')
  expect(world?.mcp.requests).toEqual([])
})

test('a server that is reached by TLS does not lead to plain http of this machine', async () => {
  const tls = serverCertificate('IP:127.0.0.1')
  const worker = { upstreamAuthorities: [tls.cert] }
  const { server } = await start({ tls: { mcp: tls }, worker })
  expect((await world?.begin())?.code).toBe('oauth_metadata_invalid')
  expect(server.requests).toEqual([])
  await world?.stop()
  await start({ tls: { mcp: tls, server: tls }, worker })
  expect((await world?.connect())?.account).toBe('first')
  expect((await world?.call('counter_read'))?.verdict).toBe('result')
})

test('an authorization server without a certificate we know is not asked', async () => {
  const tls = serverCertificate('IP:127.0.0.1')
  const other = serverCertificate('IP:127.0.0.1')
  await start({ tls: { mcp: tls, server: other }, worker: { upstreamAuthorities: [tls.cert] } })
  expect((await world?.begin())?.code).toBe('upstream_tls')
  expect(world?.server.requests).toEqual([])
})

test.each([
  ['resource metadata', `${well}oauth-protected-resource/mcp`],
  ['server metadata', `${well}oauth-authorization-server`],
  ['a registration', '/register'],
])('%s larger than the limit is not read', async (_what, path) => {
  const { mcp, server } = await start()
  mcp.faults.set(path, { kind: 'huge' })
  server.fail(path, { kind: 'huge' })
  expect((await world?.begin())?.code).toBe('upstream_too_large')
})

test('a first answer without end does not keep anybody from looking further', async () => {
  const { mcp } = await start({ resource: { challenge: () => undefined } })
  mcp.faults.set('/mcp', { kind: 'huge' })
  expect((await world?.begin())?.answer?.kind).toBe('begun')
})

test('an address that is longer than any is not made', async () => {
  const { server } = await start()
  server.switches.alter = (metadata) => ({
    ...metadata,
    scopes_supported: undefined,
    authorization_endpoint: `${server.issuer}/authorize?${'x'.repeat(1_900)}`,
  })
  const many = Array.from({ length: 64 }, (_, at) => `${'s'.repeat(250)}${at}`)
  expect((await world?.begin(world.request({ oauthScope: many })))?.code).toBe(
    'oauth_metadata_invalid',
  )
  expect((await world?.begin())?.answer?.kind).toBe('begun')
})
