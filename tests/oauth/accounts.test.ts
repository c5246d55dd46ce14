/** Whose consent it is. */
import { generateKeyPairSync } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { OAuthWorld, type WorldOptions } from './oauth-world.ts'

let world: OAuthWorld
const start = async (options: WorldOptions = {}): Promise<OAuthWorld> => {
  world = await OAuthWorld.start(options)
  return world
}
afterEach(() => world.stop())

const openid = { oauthScope: ['openid'] }

test.each(['id_token', 'userinfo', 'members'] as const)(
  'the same account, told by %s, is the next version, another one a credential of its own',
  async (tells) => {
    const { server } = await start({ server: { tells } })
    const first = await world.connect(world.request(openid))
    expect(first).toMatchObject({ account: 'first', credentialVersion: 1 })
    expect(first.clear.oauth?.account).toBe('alice@example.com')
    const again = await world.connect(world.request(openid))
    expect(again).toMatchObject({ account: 'same', credentialId: first.credentialId })
    expect(again.credentialVersion).toBe(2)

    server.switches.account = { sub: 'bob', email: 'bob@example.com' }
    const other = await world.connect(world.request(openid))
    expect(other).toMatchObject({ account: 'other', credentialVersion: 1 })
    expect(other.credentialId).not.toBe(first.credentialId)
    expect(other.clear.oauth?.account).toBe('bob@example.com')
  },
)

test.each([
  ['nobody is named', {}],
  ['only a group is named', { workspace_id: 'w1' }],
])('where %s, nothing proves that it is the same account', async (_what, account) => {
  await start({ server: { tells: 'members', account } })
  const first = await world.connect()
  const again = await world.connect()
  expect(again).toMatchObject({ account: 'unproved', credentialVersion: 1 })
  expect(again.credentialId).not.toBe(first.credentialId)
})

test('another group of the same user is another account', async () => {
  const { server } = await start({ server: { tells: 'members' } })
  server.switches.account = { user_id: 7, workspace_id: 'w1' }
  await world.connect()
  server.switches.account = { user_id: 7, workspace_id: 'w2' }
  expect(await world.connect()).toMatchObject({ account: 'other' })
})

test('the same name at another issuer is another account', async () => {
  const { server, mcp } = await start({ server: { tells: 'id_token' } })
  await world.connect()
  server.switches.path = '/tenant1'
  mcp.switches.issuers = [server.issuer]
  expect(await world.connect()).toMatchObject({ account: 'other' })
})

test('user info is asked only where OpenID was agreed to', async () => {
  const { server } = await start({ server: { tells: 'userinfo' } })
  const granted = await world.connect()
  expect(granted.clear.oauth?.account).toBeUndefined()
  expect(server.asked('/userinfo')).toEqual([])
})

const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
const past = Math.floor(Date.now() / 1_000) - 600

test.each<[string, Record<string, unknown>, typeof other | undefined]>([
  ['of another issuer', { iss: 'https://evil.example' }, undefined],
  ['for another client', { aud: 'somebody-else' }, undefined],
  ['for several clients, issued to another', { aud: ['registered', 'x'], azp: 'x' }, undefined],
  ['for several clients, issued to nobody', { aud: ['registered', 'x'] }, undefined],
  ['that is over', { iat: past - 300, exp: past }, undefined],
  ['of nobody', { sub: undefined }, undefined],
  ['signed by somebody else', {}, other],
])('refuses an id token %s', async (_what, claims, key) => {
  const { server } = await start()
  const idToken = await server.grants.signIdToken('registered', claims, key)
  server.switches.alterTokens = (answer) => ({ ...answer, id_token: idToken })
  const told = await world.finish(await world.visit())
  expect(told.head).toEqual({ verdict: 'result', code: 'oauth_identity_invalid' })
  const good = await server.grants.signIdToken('registered')
  server.switches.alterTokens = (answer) => ({ ...answer, id_token: good })
  expect((await world.connect()).clear.oauth?.account).toBe('alice@example.com')
})

test.each([
  ['no token at all', 'nonsense'],
  ['a list', 'W10.W10.W10'],
])('refuses %s as an id token', async (_what, idToken) => {
  const { server } = await start()
  server.switches.alterTokens = (answer) => ({ ...answer, id_token: idToken })
  expect((await world.finish(await world.visit())).code).toBe('oauth_identity_invalid')
})

test('an id token that nobody signed names nobody', async () => {
  const { server } = await start()
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = { iss: server.issuer, sub: 'mallory', email: 'mallory@example.com' }
  const unsigned = `${part({ alg: 'none' })}.${part(claims)}.`
  server.switches.alterTokens = (answer) => ({ ...answer, id_token: unsigned })
  expect((await world.connect()).clear.oauth?.account).toBeUndefined()
})

test('a name that would break a line is not shown', async () => {
  await start({ server: { tells: 'members', account: { sub: 'a', email: 'x\u0007y' } } })
  expect((await world.connect()).clear.oauth).not.toHaveProperty('account')
})
