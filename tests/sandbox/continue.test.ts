/** A sandbox that is killed in the middle of a write, and the one that goes on from there: the upstream counts one write. */
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { grantTools } from '../harness/setup-connection.ts'
import { startCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { type CallResult, guestClient, isAnswer, resultsIn } from './guest-client.ts'
import { run, SandboxWorld } from './sandbox-world.ts'

const asking = 'asking'
const unattended = 'p'

// Several sandboxes each, one after the other.
vi.setConfig({ testTimeout: 90_000 })

let world: SandboxWorld
let home: string

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await SandboxWorld.start()
    home = join(world.root, 'home')
    mkdirSync(home)
    const settings = { isolation: ['bubblewrap' as const] }
    const granted = { name: 'counter', url: world.counted.url, read: ['look'], write: ['store'] }
    await grantTools(world.sallyport, { ...granted, profile: asking, settings })
  })
  afterAll(() => world.end())

  test('killed while a person is asked: the next one asks again, and one write is sent', async () => {
    const id = randomUUID()
    const first = await killedDuring(asking, id, () => pendingOf(id))
    expect(world.counted.effects(id)).toBe(0)
    const next = goOn(asking, id, ['--continue', first])
    const approval = await pendingOf(id)
    await world.sallyport.api('approval.approve', { id: approval }, {})
    expect(isAnswer(await next)).toBe(true)
    expect(world.counted.effects(id)).toBe(1)
    const { items } = await world.sallyport.api('approval.list', { session: first })
    expect(items.map(({ state }) => state)).toEqual(['cancelled'])
  })

  test('killed while its approved write is at the upstream: the next one is given the answer', async () => {
    const id = randomUUID()
    const first = await killedDuring(asking, id, async () => {
      await world.sallyport.api('approval.approve', { id: await pendingOf(id) }, {})
      await world.counted.began(id)
    })
    await answeredWithNobodyThere(first, id)
    expect(isAnswer(await goOn(asking, id, ['--continue', first]))).toBe(true)
    expect(world.counted.effects(id)).toBe(1)
    // One execution, whose answer is recorded as taken once its delivery is proved.
    const rows = await eventually(
      () => executionsOf(first),
      ([row]) => row?.caller === 'collected',
    )
    expect(rows).toMatchObject([{ state: 'succeeded' }])
  })

  test('only a sandbox that goes on from it is given that answer', async () => {
    const id = randomUUID()
    const first = await killedDuring(unattended, id, () => world.counted.began(id))
    await answeredWithNobodyThere(first, id)
    expect(isAnswer(await goOn(unattended, id, []))).toBe(true)
    expect(world.counted.effects(id)).toBe(2)
    expect(isAnswer(await goOn(unattended, id, ['--continue', first]))).toBe(true)
    expect(world.counted.effects(id)).toBe(2)
  })
})

/** Held by the upstream after it took effect, until it is released. What follows proves that the answer was read. */
const script = (id: string) =>
  guestClient([
    { name: 'counter__store', arguments: { id, hold: true } },
    { name: 'counter__look', arguments: { id } },
  ])
const command = (id: string) => ['/opt/sallyport/node', '-e', script(id)]

/** Runs an agent that writes, kills its sandbox once `until` resolves, and resolves with the id of its session. */
async function killedDuring(
  profile: string,
  id: string,
  until: () => Promise<unknown>,
): Promise<string> {
  const request = { ...(await world.request(bubblewrap(), command(id))), session: { profile } }
  let pid = 0
  const running = run(request, (event) => {
    if (event.kind === 'released') pid = event.guest.process.pid
  })
  await Promise.race([until(), running])
  process.kill(pid, 'SIGKILL')
  const { end, output } = await running
  expect([end.reason, output]).toEqual(['guest_killed', ''])
  return end.session
}

async function answeredWithNobodyThere(session: string, id: string): Promise<void> {
  world.counted.release(id)
  const rows = await eventually(
    () => executionsOf(session),
    ([row]) => row?.state === 'succeeded',
  )
  expect(rows).toMatchObject([{ caller: 'detached', collectedAt: null }])
  await eventually(
    () => world.session(session),
    ({ state }) => state === 'ended',
    10_000,
  )
}

const executionsOf = async (session: string) =>
  (await world.sallyport.api('execution.list', { session })).items

/** The id of what waits for a person. */
async function pendingOf(id: string): Promise<string> {
  const { api } = world.sallyport
  const items = await eventually(
    async () => (await api('approval.list', { state: 'pending' })).items,
    (found) => found.length === 1,
    20_000,
  )
  const shown = await api('approval.show', { id: items[0]?.id ?? '' })
  expect(JSON.stringify(shown)).toContain(id)
  return shown.id
}

/** As a person does, with the command; resolves with what the agent was answered. */
async function goOn(profile: string, id: string, words: readonly string[]): Promise<CallResult> {
  world.counted.release(id)
  const place = { dataDir: world.sallyport.dataDir, home, env: { XDG_RUNTIME_DIR: world.runtime } }
  const chosen = ['--profile', profile, '--workspace', world.workspace(), ...words]
  const { code, stdout, stderr } = await startCommand(
    ['run', ...chosen, '--', ...command(id)],
    place,
  ).ended
  expect(code, stderr).toBe(0)
  const [result = null] = resultsIn(stdout)
  return result
}
