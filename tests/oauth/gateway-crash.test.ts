/**
 * A crash between the answer of the authorization server and the store: the new refresh token is the only one that is
 * good, and it was on its way. Real processes, ended by SIGKILL while that answer is held back.
 */
import { afterEach, expect, test } from 'vitest'
import { isAlive, killAndProveGone } from '../harness/processes.ts'
import { eventually } from '../system/eventually.ts'
import { GatewayWorld } from './gateway-world.ts'

let world: GatewayWorld
afterEach(() => world.stop())

const kinds = async () => (await world.credentialEvents()).map(({ kind }) => kind)

/** The server has given new tokens and says so when `release` is called. */
async function holdRefresh(): Promise<{ readonly release: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { server, mcp } = world
  server.switches.tokensAfter = promise
  mcp.refuseNewest()
  const before = server.grants.issued.length
  // It ends with its gateway.
  world.api('connection.test', { name: 'docs' }).catch(() => {})
  await eventually(
    () => server.grants.issued.length,
    (count) => count > before,
    15_000,
  )
  return { release: resolve }
}

function workerPid(): number {
  const pid = world.sallyport.workerPid()
  if (pid === undefined || !isAlive(pid)) throw new Error('no worker')
  return pid
}

test('a gateway killed before it stored a rotated token finds it with its worker again', {
  timeout: 120_000,
}, async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
  const session = await world.open('docs')
  const { release } = await holdRefresh()
  const pid = workerPid()
  await world.sallyport.kill()
  release()
  await world.sallyport.restart()
  const { credential } = await world.until('docs', (one) => one.credential?.version === 2)
  expect(credential).toMatchObject({ state: 'active' })
  expect(workerPid()).toBe(pid)
  expect(await kinds()).toEqual(['credential_recovered'])
  expect((await world.call('docs', session)).isError).toBe(false)
  // The code and one refresh: the recovered tokens are those that the server gave.
  expect(world.server.asked('/token')).toHaveLength(2)
  world.server.switches.tokensAfter = undefined
  const { id = '', version = 0 } = (await world.show('docs')).credential ?? {}
  expect((await world.credentialEvents())[0]?.notes).toEqual({
    credentialId: id,
    credentialVersion: version,
  })
})

test.each([
  { rotates: true, ends: 'broken', says: ['credential_unclear', 'credential_broken'], version: 1 },
  // Control: the old refresh token is still good, so nothing was lost.
  {
    rotates: false,
    ends: 'active',
    says: ['credential_unclear', 'credential_renewed'],
    version: 2,
  },
])(
  'where the worker is gone as well, a server that rotates ($rotates) leaves it $ends',
  {
    timeout: 120_000,
  },
  async ({ rotates, ends, says, version }) => {
    world = await GatewayWorld.start({ tells: 'id_token', rotates })
    const session = await world.open('docs')
    const { release } = await holdRefresh()
    const pid = workerPid()
    await world.sallyport.kill()
    await killAndProveGone(pid)
    release()
    await world.sallyport.restart()
    await eventually(kinds, (seen) => seen.length >= 2, 20_000)
    expect(await kinds()).toEqual(says)
    expect((await world.show('docs')).credential).toMatchObject({ state: ends, version })
    const { failure, isError } = await world.call('docs', session)
    expect(failure?.code).toBe(ends === 'broken' ? 'credential_unusable' : undefined)
    expect(isError).toBe(ends === 'broken')
    world.server.switches.tokensAfter = undefined
    if (ends === 'active') return
    expect((await world.show('docs')).health).toMatchObject({ code: 'oauth_invalid_grant' })
    expect(await world.signIn('docs')).toMatchObject({ state: 'done', account: 'same' })
    expect((await world.call('docs', session)).isError).toBe(false)
  },
)

test('a worker that dies with the answer leaves a credential that its gateway finds broken', {
  timeout: 120_000,
}, async () => {
  world = await GatewayWorld.start({ tells: 'id_token' })
  await world.open('docs')
  const { release } = await holdRefresh()
  await killAndProveGone(workerPid())
  release()
  const shown = await world.until('docs', ({ credential }) => credential?.state === 'broken')
  expect(shown.credential).toMatchObject({ version: 1 })
  expect(await kinds()).toEqual(['credential_unclear', 'credential_broken'])
})
