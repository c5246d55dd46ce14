/** What holds for every agent program that `sallyport run` starts, in bubblewrap, offline, with a fake model. */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type AgentName, agentPrograms, bubblewrap, settingsText } from '@sallyport/launcher'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import type { ModelRequest } from '../clients/fake-model.ts'
import { findClient } from '../clients/install-clients.ts'
import { filesIn, HarnessWorld, tool } from './harness-world.ts'
import { evilTool, type HostileWorkspace, makeHostile } from './hostile-workspace.ts'

const prompt = `Do this:\n@call ${tool} {}`

export async function harnessBehaviour(name: AgentName): Promise<void> {
  const { program, reason = '' } = await findClient(name)
  if (program === undefined) return test.skip(`${name}: ${reason}`, () => undefined)
  await sandboxSuite(bubblewrap(), () => describe(name, () => declare(name, program)))
}

function declare(name: AgentName, program: string): void {
  let world: HarnessWorld
  beforeAll(async () => {
    world = await HarnessWorld.start()
    await setUpHome(name, world.home)
  })
  afterAll(() => world?.end())

  const hostile = (): { workspace: string; made: HostileWorkspace } => {
    const workspace = world.folder('workspace')
    return { workspace, made: makeHostile(workspace, world.outside) }
  }

  test('reads a counter through Sallyport and sees the result; what a hostile workspace brings is not loaded', async () => {
    const { upstream, model, credential } = world.governed
    const { workspace, made } = hostile()
    const home = filesIn(world.home)
    const { session, stderr } = await world.run(name, program, { workspace, prompt })
    expect(JSON.stringify(model.results()), stderr).toContain(world.counter())
    const calls = upstream.requests.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${credential}`])
    expect(session).toMatchObject({
      isolation: 'bubblewrap',
      state: 'ended',
      endReason: 'guest_ended',
      tools: [{ name: 'lab__counter_read', shown: true }],
    })
    expect(offered(model.requests)).toEqual({ counter: true, withheld: false, evil: false })
    expect([made.ran(), made.ranOutside()]).toEqual([[], []])
    expect(filesIn(world.home)).toEqual(home)
    expect(world.leftovers()).toEqual([])
  }, 120_000)

  test('under a profile that grants no tool it has none, whatever the workspace brings', async () => {
    const { workspace, made } = hostile()
    const before = world.governed.model.requests.length
    const asked = { workspace, prompt: 'Say something.', profile: 'nothing' }
    const { session, stderr } = await world.run(name, program, asked)
    const requests = world.governed.model.requests.slice(before)
    expect(requests.length, stderr).toBeGreaterThan(0)
    expect(offered(requests)).toEqual({ counter: false, withheld: false, evil: false })
    expect(session).toMatchObject({ tools: [], endReason: 'guest_ended' })
    expect([made.ran(), made.ranOutside()]).toEqual([[], []])
  }, 120_000)

  test('let take settings from the workspace, it starts the server there, inside the sandbox alone', async () => {
    const { workspace, made } = hostile()
    const options = ['--workspace-settings']
    const enough = () => made.ran().includes(`mcp-${name}`)
    const asked = { workspace, prompt: 'Say something.', options, enough }
    const { stderr } = await world.run(name, program, asked)
    expect(made.ran(), stderr).toContain(`mcp-${name}`)
    expect(made.ranOutside()).toEqual([])
    // Where they can be reached, the same commands do say so outside.
    execFileSync('sh', ['-c', made.command('control')], { stdio: 'ignore' })
    expect(made.ranOutside()).toEqual(['control'])
  }, 120_000)
}

/** Which tools the model was told of, in whatever way. */
function offered(requests: readonly ModelRequest[]) {
  const text = JSON.stringify(requests.map(({ body }) => body))
  const has = (word: string): boolean => text.includes(word)
  return { counter: has('lab__counter_read'), withheld: has('lab__echo'), evil: has(evilTool) }
}

/** What the user has set up for themselves, with a server of their own in it. */
async function setUpHome(name: AgentName, home: string): Promise<void> {
  const entry = agentPrograms[name].entry({ by: 'shim', command: 'touch', args: [`${home}/ran`] })
  const at = join(home, entry.file.replace(/^~\//, '').replace('$CODEX_HOME', '.codex'))
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, await settingsText(entry))
}
