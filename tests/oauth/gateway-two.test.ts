/** Two gateways, each with its worker, on one Postgres: one refreshes what both use, and either finishes what one began. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Sallyport, startSallyport } from '../harness/start-sallyport.ts'
import { type RunningPostgres, startPostgres } from '../postgres/start-postgres.ts'
import { RawGuest } from '../system/raw-guest.ts'
import { type Flow, GatewayWorld } from './gateway-world.ts'

const rounds = process.env['SALLYPORT_TEST_ALL'] === '1' ? 200 : 20

let postgres: RunningPostgres
let folder: string
let world: GatewayWorld
let second: Sallyport

beforeAll(async () => {
  postgres = await startPostgres()
  folder = mkdtempSync(join(tmpdir(), 'sallyport-oauth-two-'))
  const options = {
    args: ['--database', postgres.url, '--data-key-file', join(folder, 'data.key')],
    env: { SALLYPORT_VAULT_KEY_FILE: join(folder, 'vault.key') },
  }
  world = await GatewayWorld.start({ tells: 'id_token' }, options)
  second = await startSallyport(options)
}, 120_000)
afterAll(async () => {
  await second?.remove()
  await world?.stop()
  await postgres?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('one rotation for each round, whoever was first; both go on with it, and none is broken', {
  timeout: 60_000 + rounds * 5_000,
}, async () => {
  const { server, mcp, sallyport } = world
  const session = await world.open('docs')
  const gateways = [sallyport, second]
  const call = ({ guestUrl }: Sallyport) =>
    new RawGuest({ endpoint: `${guestUrl}/mcp/docs`, token: session.token, era: 'modern' })
  let refusedBoth = 0
  for (let round = 1; round <= rounds; round++) {
    // Long enough that the other asks meanwhile, not so long that nothing else happens.
    server.switches.tokensAfter = sleep((round % 4) * 10)
    const before = mcp.requests.length
    const old = mcp.refuseNewest()
    const looks = await Promise.all(
      gateways.map(({ api }) => api('connection.test', { name: 'docs' })),
    )
    expect(looks.map(({ state }) => state)).toEqual(['ok', 'ok'])
    const tried = mcp.requests.slice(before).filter(({ token }) => token === old)
    if (tried.length > 1) refusedBoth++
    expect((await world.show('docs')).credential).toMatchObject({
      version: round + 1,
      state: 'active',
    })
    // The code, and a refresh a round: the authorization server has never refused one.
    expect(server.asked('/token')).toHaveLength(round + 1)
    const answers = await Promise.all(gateways.map((one) => call(one).call('counter_read')))
    expect(answers.map(({ isError }) => isError)).toEqual([false, false])
  }
  expect(refusedBoth).toBeGreaterThan(rounds / 4)
  const kinds = (await world.credentialEvents()).map(({ kind }) => kind)
  expect(kinds).toEqual(Array.from({ length: rounds }, () => 'credential_renewed'))
})

test('a state that is absent, used, or swapped with another is one answer at both', {
  timeout: 60_000,
}, async () => {
  world.server.switches.tokensAfter = undefined
  await world.add('swap-one')
  await world.add('swap-two')
  const at = async (gateway: Sallyport, brought: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams(brought)
    const answer = await fetch(`${gateway.url}/oauth/callback?${query}`)
    return { status: answer.status, text: await answer.text() }
  }
  const [one, two] = [await world.begin('swap-one'), await world.begin('swap-two')].map((begun) =>
    world.visit(begun),
  )
  const swapped = { ...two, state: one?.['state'] ?? '' }
  const absent = await at(second, { ...two, state: 'A'.repeat(43) })
  expect(absent.status).toBe(400)
  expect(await at(second, swapped)).toEqual(absent)
  // Both gateways know that it was used.
  for (const gateway of [world.sallyport, second])
    expect(await at(gateway, one ?? {})).toEqual(absent)
  expect((await world.show('swap-one')).credential).toBeNull()
  // Control: what is brought back as it was sent is a sign-in.
  const good = await world.begin('swap-one')
  expect((await at(second, world.visit(good))).status).toBe(200)
})

test('a sign-in that was begun at one gateway is finished by the other, also when the first is gone', {
  timeout: 60_000,
}, async () => {
  world.server.switches.tokensAfter = undefined
  await world.add('moves')
  const comesBack = (begun: Flow) =>
    fetch(`${second.url}/oauth/callback?${new URLSearchParams(world.visit(begun))}`)
  const begun = await world.begin('moves')
  expect((await comesBack(begun)).status).toBe(200)
  expect(await world.flow(begun)).toMatchObject({ state: 'done', account: 'first' })
  // Once: neither gateway takes it again.
  expect((await world.callback(world.visit(begun))).status).toBe(400)
  const next = await world.begin('moves')
  await world.sallyport.kill()
  expect((await comesBack(next)).status).toBe(200)
  const shown = await second.api('connection.authorization', { name: 'moves', id: next.id })
  expect(shown).toMatchObject({ state: 'done', account: 'same' })
  expect(await second.api('connection.test', { name: 'moves' })).toMatchObject({ state: 'ok' })
})
