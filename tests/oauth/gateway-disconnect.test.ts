/** Disconnecting, through the whole program: here at once, at the authorization server as far as it can be had. */
import { afterEach, expect, test } from 'vitest'
import { GatewayWorld } from './gateway-world.ts'
import type { Switches } from './scripted-authorization-server.ts'
import { answer, type ServerFault } from './scripted-faults.ts'

let world: GatewayWorld
afterEach(() => world.stop())

async function start(switches: Partial<Switches> = {}): Promise<void> {
  world = await GatewayWorld.start({ tells: 'id_token', ...switches })
}

const disconnect = () => world.api('connection.disconnect', { name: 'docs' })
const events = async () =>
  (await world.credentialEvents()).map(({ kind, code }) => (code ? `${kind} ${code}` : kind))

test('disconnecting revokes both tokens at the authorization server, the refresh token first', {
  timeout: 60_000,
}, async () => {
  await start()
  const session = await world.open('docs')
  expect((await world.call('docs', session)).isError).toBe(false)
  expect(world.server.grants.isEmpty).toBe(false)
  expect(await disconnect()).toMatchObject({
    revocation: 'revoked',
    credential: { state: 'revoked' },
    condition: 'revoked',
  })
  expect(world.server.grants.isEmpty).toBe(true)
  const told = world.server.asked('/revoke').map(({ form }) => form.get('token_type_hint'))
  expect(told).toEqual(['refresh_token', 'access_token'])
  expect(await events()).toEqual(['credential_revoked', 'credential_revocation'])
  // Once more is nothing, and says so.
  expect(await disconnect()).toMatchObject({ revocation: null })
  expect(world.server.asked('/revoke')).toHaveLength(2)
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'first' })
})

test('a server that offers no revocation is asked nothing', { timeout: 60_000 }, async () => {
  await start({ revokes: false })
  await world.open('docs')
  expect(await disconnect()).toMatchObject({ revocation: 'not_offered' })
  expect(world.server.asked('/revoke')).toEqual([])
  expect(await events()).toEqual(['credential_revoked'])
})

test.each<[what: string, ServerFault, told: string, recorded: string]>([
  ['is away', answer(503), 'failed', 'credential_revocation oauth_unavailable'],
  [
    'refuses',
    answer(400, { error: 'invalid_client' }),
    'failed',
    'credential_revocation oauth_invalid_client',
  ],
  [
    'sends it elsewhere',
    { kind: 'redirect', to: 'http://127.0.0.1:1/' },
    'failed',
    'credential_revocation upstream_protocol',
  ],
])(
  'where the authorization server %s the credential is revoked here all the same',
  {
    timeout: 60_000,
  },
  async (_what, fault, told, recorded) => {
    await start()
    const session = await world.open('docs')
    world.server.fail('/revoke', fault, true)
    expect(await disconnect()).toMatchObject({ revocation: told, credential: { state: 'revoked' } })
    const requests = world.mcp.requests.length
    expect((await world.call('docs', session)).failure?.code).toBe('credential_unusable')
    expect(world.mcp.requests).toHaveLength(requests)
    expect(await events()).toEqual(['credential_revoked', recorded])
  },
)

test('a server that never answers holds up neither the disconnect nor whoever asked for it', {
  timeout: 60_000,
}, async () => {
  await start()
  const session = await world.open('docs')
  world.server.fail('/revoke', { kind: 'hang' }, true)
  const asked = disconnect()
  await world.until('docs', ({ credential }) => credential?.state === 'revoked')
  expect((await world.call('docs', session)).failure?.code).toBe('credential_unusable')
  expect(await asked).toMatchObject({ revocation: 'asked' })
})

test('a token that is renewed while its credential is revoked is revoked as well', {
  timeout: 60_000,
}, async () => {
  await start()
  await world.open('docs')
  const { promise, resolve } = Promise.withResolvers<void>()
  world.server.switches.tokensAfter = promise
  world.mcp.refuseNewest()
  const before = world.server.grants.issued.length
  const tested = world.api('connection.test', { name: 'docs' })
  await world.until('docs', () => world.server.grants.issued.length > before)
  expect(await disconnect()).toMatchObject({ revocation: 'revoked' })
  expect(world.server.grants.isEmpty).toBe(false)
  resolve()
  await tested
  await world.until('docs', () => world.server.grants.isEmpty)
  expect(await world.show('docs')).toMatchObject({ credential: { state: 'revoked' } })
})
