/** Grants that end with something else than a disconnect: they are revoked at the authorization server as well, once. */
import type { ConnectionId } from '@sallyport/protocol'
import { sealConnection } from '@sallyport/protocol/node'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { GatewayWorld, newIds } from './gateway-world.ts'
import { answer } from './scripted-faults.ts'

let world: GatewayWorld
let account: Record<string, unknown>
beforeAll(async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
  account = world.server.switches.account
}, 60_000)
afterEach(() => {
  world.server.faults.clear()
  Object.assign(world.server.switches, { account, tokensAfter: undefined })
})
afterAll(() => world.stop())

/** A request may take ten seconds. */
const isAll = process.env['SALLYPORT_TEST_ALL'] === '1'

/** Signed in; the tokens it has now. */
async function connected(name: string): Promise<readonly string[]> {
  const before = world.server.grants.issued.length
  await world.add(name)
  expect(await world.signIn(name)).toMatchObject({ state: 'done' })
  return world.server.grants.issued.slice(before)
}

const revoked = () => world.server.asked('/revoke').map(({ form }) => form.get('token') ?? '')
const revokedOf = (tokens: readonly string[]) => revoked().filter((one) => tokens.includes(one))
/** With what the authorization server made of it, when that is told. */
const eventsOf = async (name: string, count: number) => {
  const told = await eventually(
    async () => (await world.credentialEvents()).filter((one) => one.connectionName === name),
    (seen) => seen.length >= count,
    15_000,
  )
  return told.map(({ kind, code }) => (code ? `${kind} ${code}` : kind))
}
const both = ['credential_revoked', 'credential_revocation']

/** Another address, which may be another upstream: the credential goes. */
async function move(name: string): Promise<void> {
  const { id, revision } = await world.show(name)
  const { endpoint } = sealConnection({
    ...{ url: `${world.mcp.url}?moved`, headers: [], scope: 'org', localAllowed: true },
    ...{ connectionId: id as ConnectionId, revision: revision + 1 },
    ...{ credentialId: newIds('credential'), credentialVersion: 1 },
    key: await world.api('vault.show'),
  })
  await world.api('connection.edit', { name }, { endpoint, credential: null })
}

test.each<[what: string, name: string, end: (name: string) => Promise<unknown>]>([
  ['removing a connection', 'removed', (name) => world.api('connection.remove', { name })],
  [
    'taking its credential away',
    'taken',
    (name) => world.api('connection.edit', { name }, { credential: null }),
  ],
  ['an edit that may be another upstream', 'moved', move],
])('%s revokes both tokens, the refresh token first', { timeout: 60_000 }, async (_, name, end) => {
  const tokens = await connected(name)
  const others = await connected(`${name}-beside`)
  await end(name)
  expect(await eventsOf(name, 2)).toEqual(both)
  expect(revokedOf(tokens)).toEqual(tokens.toReversed())
  const notes = (await world.credentialEvents()).find(({ kind }) => kind === 'credential_revoked')
  expect(notes?.notes).toMatchObject({ by: expect.stringMatching(/^usr_/) })
  // Control: the connection beside it goes on.
  expect(revokedOf(others)).toEqual([])
  const looked = await world.api('connection.test', { name: `${name}-beside` })
  expect(looked).toMatchObject({ state: 'ok' })
})

test('another account takes the grant of the one before with it; the same account does not', {
  timeout: 60_000,
}, async () => {
  const first = await connected('accounts')
  expect(await world.signIn('accounts')).toMatchObject({ state: 'done', account: 'same' })
  world.server.switches.account = { sub: 'bob' }
  const held = world.server.grants.issued.length
  expect(await world.signIn('accounts')).toMatchObject({ state: 'done', account: 'other' })
  expect(await eventsOf('accounts', 2)).toEqual(both)
  const second = world.server.grants.issued.slice(held - 2, held)
  expect(revokedOf(second)).toEqual(second.toReversed())
  // A server may end all that one account gave to one client: what was just given would end as well.
  expect(revokedOf(first)).toEqual([])
  expect(await world.api('connection.test', { name: 'accounts' })).toMatchObject({ state: 'ok' })
})

test('a server that never answers is not waited for, and one that fails is recorded', {
  timeout: 90_000,
}, async () => {
  const [hangs, fails] = [await connected('hangs'), await connected('fails')]
  world.server.fail('/revoke', { kind: 'hang' }, true)
  await world.api('connection.remove', { name: 'hangs' })
  await eventually(revoked, (seen) => seen.includes(hangs[1] ?? ''), 15_000)
  // Removed, while the server still says nothing.
  expect((await world.api('connection.list')).items.map(({ name }) => name)).not.toContain('hangs')
  expect(await eventsOf('hangs', 1)).toEqual(['credential_revoked'])
  world.server.fail('/revoke', answer(503), true)
  await world.api('connection.remove', { name: 'fails' })
  const told = ['credential_revoked', 'credential_revocation oauth_unavailable']
  expect(await eventsOf('fails', 2)).toEqual(told)
  expect(revokedOf(fails)).toEqual([fails[1]])
  if (!isAll) return
  // In time it is given up, and that is told as well.
  const late = ['credential_revoked', 'credential_revocation upstream_timeout']
  expect(await eventsOf('hangs', 2)).toEqual(late)
})

test('a server that offers no revocation is asked nothing, and the connection goes all the same', {
  timeout: 60_000,
}, async () => {
  const shared = world
  world = await GatewayWorld.start({ tells: 'id_token', revokes: false })
  try {
    await connected('silent')
    await world.api('connection.remove', { name: 'silent' })
    // It was revoked here, and what would have been asked of the server was asked before the next sign-in.
    await connected('after')
    expect(await eventsOf('silent', 1)).toEqual(['credential_revoked'])
    expect(revoked()).toEqual([])
  } finally {
    await world.stop()
    world = shared
  }
})
