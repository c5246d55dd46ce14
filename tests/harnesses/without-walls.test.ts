/** Agent programs in class `none`: kept to the tools of the session as far as that holds without a sandbox, or not started. */
import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentName, agentNames, agentPrograms, noSandbox } from '@sallyport/launcher'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { connectionName } from '../clients/governed-run.ts'
import { findClient } from '../clients/install-clients.ts'
import { filesIn, HarnessWorld, tool } from './harness-world.ts'
import { makeHostile } from './hostile-workspace.ts'

const prompt = `Do this:\n@call ${tool} {}`
const options = ['--sandbox', 'none']
const inShort: readonly AgentName[] = ['claude', 'codex']
const agents = process.env['SALLYPORT_TEST_ALL'] ? agentNames : inShort
let world: HarnessWorld

await sandboxSuite(noSandbox(), () => {
  beforeAll(async () => {
    world = await HarnessWorld.start()
    const { api } = world.governed.sallyport
    const settings = { isolation: ['none'] as 'none'[] }
    await api('profile.create', {}, { name: 'unwalled', settings })
    const grant = { connection: connectionName, tools: 'counter_read', mode: 'read' } as const
    await api('profile.grant', { name: 'unwalled' }, grant)
  })
  afterAll(() => world?.end())
  describe.each(agents)('%s', async (name) => declare(name, await findClient(name)))
})

function declare(name: AgentName, { program, reason }: Awaited<ReturnType<typeof findClient>>) {
  if (program === undefined) return test.skip(`not run: ${reason}`, () => undefined)
  const started = (workspace: string, profile = 'unwalled') =>
    world.run(name, program, { workspace, prompt, options, profile })

  test('reads a counter, in a home of its own, and loads nothing that the workspace brings', async () => {
    const workspace = world.folder('workspace')
    const made = makeHostile(workspace, world.outside, false)
    const { covered } = agentPrograms[name]
    const home = filesIn(world.home)
    if (covered.length > 0) {
      // Over these no folder can be laid here.
      const { code, stderr } = await started(workspace)
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^not_enforceable: /)])
      for (const folder of covered) rmSync(join(workspace, folder), { recursive: true })
    }
    const { session, stderr } = await started(workspace)
    expect(JSON.stringify(world.governed.model.results()), stderr).toContain(world.counter())
    expect(session).toMatchObject({
      ...{ isolation: 'none', state: 'ended', endReason: 'guest_ended' },
      tools: [{ name: `${connectionName}__counter_read`, shown: true }],
    })
    expect([made.ran(), made.ranOutside()]).toEqual([[], []])
    expect(filesIn(world.home)).toEqual(home)
    expect(world.leftovers()).toEqual([])
    // Whatever had run could have said so.
    execFileSync('sh', ['-c', made.command('control')], { stdio: 'ignore' })
    expect([made.ran(), made.ranOutside()]).toEqual([['control'], ['control']])
    rmSync(join(world.outside, 'control'))
  }, 120_000)

  test('is not started under a profile that demands isolation', async () => {
    const workspace = world.folder('workspace')
    const before = world.governed.model.requests.length
    const { code, stderr } = await started(workspace, 'clients')
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^isolation_refused: /)])
    expect(world.governed.model.requests.length).toBe(before)
    expect(world.leftovers()).toEqual([])
  })
  return undefined
}
