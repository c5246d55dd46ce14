/** Every way a refresh ends: the state of the credential, what a person reads, and the one code that a session sees. */

import type { ErrorCode } from '@sallyport/protocol'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { OpenSession } from '../harness/setup-connection.ts'
import { eventually } from '../system/eventually.ts'
import { GatewayWorld } from './gateway-world.ts'
import { ScriptedAuthorizationServer } from './scripted-authorization-server.ts'
import { answer } from './scripted-faults.ts'

let world: GatewayWorld
let defaults: GatewayWorld['server']['switches']
beforeAll(async () => {
  world = await GatewayWorld.start({ tells: 'id_token', giveScope: () => 'read write' })
  defaults = { ...world.server.switches }
}, 60_000)
afterEach(() => {
  Object.assign(world.server.switches, defaults)
  world.server.faults.clear()
})
afterAll(() => world.stop())

/** The token is over before its time: the next call makes the gateway refresh it. */
async function refreshBy(name: string, session: OpenSession, change: () => void) {
  expect((await world.call(name, session)).isError).toBe(false)
  world.mcp.refuseNewest()
  change()
  return world.call(name, session)
}

const scopesOf = async (name: string) => (await world.show(name)).credential?.oauth?.scopes

type Change = (switches: GatewayWorld['server']['switches']) => void

test.each<[what: string, name: string, Change, scopes: readonly string[]]>([
  ['the same account', 'same', () => {}, ['read', 'write']],
  ['an answer that names no account', 'omitted', (s) => (s.tells = 'nothing'), ['read', 'write']],
  ['fewer scopes', 'narrow', (s) => (s.giveScope = () => 'read'), ['read']],
  ['no word about scopes', 'silent', (s) => (s.giveScope = () => undefined), ['read', 'write']],
])(
  '%s: the credential goes on, and so does the session',
  { timeout: 60_000 },
  async (_what, name, change, scopes) => {
    const session = await world.open(name)
    const answer = await refreshBy(name, session, () => change(world.server.switches))
    expect(answer.failure).toBeUndefined()
    expect(await world.show(name)).toMatchObject({
      credential: { version: 2, state: 'active', oauth: { account: 'alice@example.com' } },
      condition: 'ok',
    })
    expect(await scopesOf(name)).toEqual(scopes)
  },
)

test.each<[what: string, name: string, Change, ErrorCode, condition: string]>([
  [
    'a grant that was revoked there',
    'gone',
    () => world.server.grants.revokeAll(),
    'oauth_invalid_grant',
    'needs_sign_in',
  ],
  [
    'another account',
    'account',
    (s) => (s.account = { sub: 'mallory' }),
    'account_changed',
    'changed_account',
  ],
  [
    'more scopes',
    'wide',
    (s) => (s.giveScope = () => 'read write admin'),
    'oauth_scope_widened',
    'needs_sign_in',
  ],
  [
    'a token of a kind that nobody knows',
    'kind',
    (s) => (s.alterTokens = (all) => ({ ...all, token_type: 'mac' })),
    'oauth_token_unusable',
    'needs_sign_in',
  ],
  [
    'a client that is not known any more',
    'client',
    () => world.server.clients.clear(),
    'oauth_invalid_client',
    'needs_sign_in',
  ],
])(
  '%s: the credential is broken, nothing is sent with it, and a person signs in again',
  {
    timeout: 60_000,
  },
  async (_what, name, change, code, condition) => {
    const clients = new Map(world.server.clients)
    const session = await world.open(name)
    const answer = await refreshBy(name, session, () => change(world.server.switches))
    expect(answer.failure?.code).toBe('upstream_unauthorized')
    expect(await world.show(name)).toMatchObject({
      credential: { version: 1, state: 'broken' },
      health: { state: 'unauthorized', code },
      condition,
    })
    const seen = world.mcp.requests.length
    for (const tool of ['counter_read', 'counter_add'])
      expect(
        (await world.call(name, session, tool, tool === 'counter_add' ? '{"by":1}' : '{}')).failure
          ?.code,
      ).toBe('credential_unusable')
    expect(world.mcp.requests).toHaveLength(seen)
    const last = (await world.credentialEvents()).at(-1)
    expect(last).toMatchObject({ kind: 'credential_broken', connectionName: name, code })
    Object.assign(world.server.switches, defaults)
    for (const [id, client] of clients) world.server.clients.set(id, client)
    if (name === 'client') return
    expect(await world.signIn(name)).toMatchObject({ state: 'done', account: 'same' })
    expect((await world.call(name, session)).isError).toBe(false)
  },
)

/** The slow one takes as long as a request may. */
const isAll = process.env['SALLYPORT_TEST_ALL'] === '1'

test.each([
  ['is away', 'away', answer(503)],
  ['asks for patience', 'busy', answer(429)],
  ['says nothing that could be understood', 'strange', answer(200, 'hello')],
  ['closes the connection', 'cut', { kind: 'cut' }],
  ...(isAll ? [['does not answer in time', 'slow', { kind: 'hang' }] as const] : []),
] as const)(
  'a server that %s breaks nothing, and when it is back the session goes on',
  {
    timeout: 90_000,
  },
  async (_what, name, fault) => {
    // It does not rotate: an answer that is lost on the way must not count as one that was given.
    world.server.switches.rotates = false
    const session = await world.open(name)
    const refused = await refreshBy(name, session, () => world.server.fail('/token', fault, true))
    expect(refused.failure?.code).toBe('upstream_unauthorized')
    expect(await world.show(name)).toMatchObject({ credential: { version: 1, state: 'active' } })
    world.server.faults.clear()
    const back = await eventually(
      () => world.call(name, session),
      ({ isError }) => !isError,
      40_000,
    )
    expect(back.isError).toBe(false)
    expect(await world.show(name)).toMatchObject({ credential: { version: 2, state: 'active' } })
  },
)

test('another account at a new sign-in does not resume open sessions; the same one does', {
  timeout: 60_000,
}, async () => {
  const session = await world.open('again')
  expect(await world.signIn('again')).toMatchObject({ state: 'done', account: 'same' })
  expect((await world.call('again', session)).isError).toBe(false)
  world.server.switches.account = { sub: 'bob' }
  expect(await world.signIn('again')).toMatchObject({ state: 'done', account: 'other' })
  const seen = world.mcp.requests.length
  expect((await world.call('again', session)).failure?.code).toBe('connection_changed')
  expect(world.mcp.requests).toHaveLength(seen)
  const next = await world.api('session.create', {}, { profile: 'again' })
  expect((await world.call('again', next)).isError).toBe(false)
})

test('an authorization server whose tokens are to come from another host waits for a person who agrees', {
  timeout: 60_000,
}, async () => {
  const { server } = world
  const elsewhere = await ScriptedAuthorizationServer.start()
  const session = await world.open('hosts')
  server.switches.alter = (all) => ({ ...all, token_endpoint: `${elsewhere.origin}/token` })
  const answered = await refreshBy('hosts', session, () => server.fail('/token', answer(404), true))
  expect(answered.failure?.code).toBe('upstream_unauthorized')
  expect(await world.show('hosts')).toMatchObject({
    credential: { version: 1, state: 'broken' },
    health: { state: 'unauthorized', code: 'oauth_server_changed' },
    condition: 'needs_sign_in',
  })
  expect((await world.call('hosts', session)).failure?.code).toBe('credential_unusable')
  await expect(world.begin('hosts')).rejects.toThrow('oauth_server_changed')
  expect(elsewhere.requests).toEqual([])
  // Somebody who agrees is sent on, and what they agreed to is what is expected from then on.
  Object.assign(elsewhere, { grants: server.grants })
  server.faults.clear()
  const agreed = { acceptIssuer: true } as const
  const begun = await world.api('connection.authorize', { name: 'hosts' }, agreed)
  await world.callback(world.visit(begun))
  expect(await world.flow(begun)).toMatchObject({ state: 'done', account: 'same' })
  expect(elsewhere.asked('/token')).toHaveLength(1)
  expect((await world.call('hosts', session)).isError).toBe(false)
  expect((await world.begin('hosts')).state).toBe('waiting')
  await elsewhere.close()
})
