/**
 * Sign-ins and refreshes that end while something else does, through the whole program: what they brought is revoked at
 * the authorization server, which ends with one token all that its client was given, unless something here stands on it.
 */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../system/eventually.ts'
import { type Flow, GatewayWorld } from './gateway-world.ts'

let world: GatewayWorld
beforeEach(async () => {
  world = await GatewayWorld.start({ tells: 'id_token', revokesAll: true })
}, 60_000)
afterEach(() => world.stop())

const disconnect = () => world.api('connection.disconnect', { name: 'docs' })
const revoked = () => world.server.asked('/revoke').map(({ form }) => form.get('token') ?? '')

/** What is given from here on, and what lets the answer to the first of these requests go. */
async function hold(ask: () => Promise<unknown>) {
  const before = world.server.grants.issued.length
  const given = () => world.server.grants.issued.slice(before)
  const { promise, resolve } = Promise.withResolvers<void>()
  world.server.switches.tokensAfter = promise
  const ended = ask()
  await eventually(given, ({ length }) => length > 0, 15_000)
  world.server.switches.tokensAfter = undefined
  const release = () => {
    resolve()
    return ended
  }
  return { given: given(), release }
}
const finish = (begun: Flow) => () => world.callback(world.visit(begun))
const isUsable = async () => {
  expect(await world.api('connection.test', { name: 'docs' })).toMatchObject({ state: 'ok' })
}

test.each<[what: string, end: () => Promise<unknown>, isSignedIn: boolean]>([
  ['removed', () => world.api('connection.remove', { name: 'docs' }), false],
  ['disconnected', disconnect, true],
])(
  'what a sign-in brought for a connection that was %s meanwhile is revoked',
  {
    timeout: 60_000,
  },
  async (_, end, isSignedIn) => {
    await world.add('docs')
    if (isSignedIn) await world.signIn('docs')
    // A server that ends them one by one: each has to be named.
    world.server.switches.revokesAll = false
    const { given, release } = await hold(finish(await world.begin('docs')))
    await end()
    expect(await release()).toMatchObject({ status: 400 })
    await eventually(revoked, (seen) => given.every((one) => seen.includes(one)), 15_000)
    expect(world.server.grants.isEmpty).toBe(true)
    const kinds = async () => (await world.credentialEvents()).map(({ kind }) => kind)
    const told = isSignedIn ? ['credential_revoked', 'credential_revocation'] : []
    const all = [...told, 'credential_revocation']
    expect(await eventually(kinds, ({ length }) => length >= all.length, 15_000)).toEqual(all)
  },
)

test('of two sign-ins that end at once the one that is refused does not end what the other one brought', {
  timeout: 60_000,
}, async () => {
  await world.add('docs')
  const [one, other] = [await world.begin('docs'), await world.begin('docs')]
  const { given, release } = await hold(finish(one))
  await finish(other)()
  expect(await release()).toMatchObject({ status: 400 })
  expect(await world.flow(one)).toMatchObject({ state: 'failed', code: 'conflict' })
  expect(await world.flow(other)).toMatchObject({ state: 'done', account: 'first' })
  await isUsable()
  // What was to be asked was asked before this.
  expect(await disconnect()).toMatchObject({ revocation: 'revoked' })
  expect(revoked().filter((token) => given.includes(token))).toEqual([])
})

test('what a refresh brings after a disconnect does not end what a sign-in has brought since', {
  timeout: 60_000,
}, async () => {
  await world.open('docs')
  world.mcp.refuseNewest()
  const look = () => world.api('connection.test', { name: 'docs' })
  const { given, release } = await hold(look)
  expect(await disconnect()).toMatchObject({ revocation: 'revoked' })
  expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'first' })
  await release()
  await isUsable()
  expect(await disconnect()).toMatchObject({ revocation: 'revoked' })
  expect(revoked().filter((token) => given.includes(token))).toEqual([])
})
