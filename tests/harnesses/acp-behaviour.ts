/** What holds for every agent that `sallyport run` speaks to by ACP, in bubblewrap, offline, with a fake model. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { findClient } from '../clients/install-clients.ts'
import { ApiRefusal } from '../harness/call-api.ts'
import type { Ended, RunningCommand } from '../system/commands.ts'
import {
  type AcpAgentName,
  AcpWorld,
  acpAgents,
  addTool,
  childrenOf,
  readTool,
  running,
} from './acp-world.ts'
import { evilCall, evilTool, evilWrite, makeHostile } from './hostile-workspace.ts'
import { PromptTerminal } from './prompt-terminal.ts'

export interface AcpTraits {
  /** Which calls it asks for; left out: it never asks. */
  readonly asks?: 'each call' | 'writes' | 'other servers'
  /** It asks its person with a form when the model says so by this. */
  readonly form?: string
}

export async function acpBehaviour(name: AcpAgentName, traits: AcpTraits = {}): Promise<void> {
  const { program, reason = '' } = await findClient(acpAgents[name].client)
  if (program === undefined) return test.skip(`acp:${name}: ${reason}`, () => undefined)
  await sandboxSuite(bubblewrap(), () =>
    describe(`acp:${name}`, () => declare(name, program, traits)),
  )
}

const shim = '/opt/sallyport/shim.mjs'
const keeper = '/opt/sallyport/keeper.mjs'
const startsWithin = { timeout: 60_000 }

function declare(name: AcpAgentName, program: string, { asks, form }: AcpTraits): void {
  let world: AcpWorld
  beforeAll(async () => {
    world = await AcpWorld.start()
  })
  afterAll(() => world?.end())

  const run = (prompt: string, options: readonly string[] = [], workspace = world.workspace()) =>
    world.start(world.words(name, program, { workspace, prompt, options: ['--json', ...options] }))
  const readings = (): number =>
    world.governed.upstream.requests.filter(({ method }) => method === 'tools/call').length
  const counter = (): string => world.counter()

  test('reads a counter through Sallyport and sees the result; what a hostile workspace brings is not loaded', async () => {
    const { upstream, model, credential } = world.governed
    const workspace = world.workspace()
    const made = makeHostile(workspace, world.outside)
    const ended = await run(`Do this:\n@call ${readTool} {}`, [], workspace).ended
    expect(ended.code, ended.stderr).toBe(0)
    expect(JSON.stringify(model.results() ?? null), ended.stdout).toContain(counter())
    const calls = upstream.requests.filter(({ method }) => method === 'tools/call')
    expect(calls.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${credential}`])
    // What the model said of it last is what is printed.
    expect(ended.stdout).toContain(counter())
    expect(told(ended)).toMatchObject({ reason: 'guest_ended', stopReason: 'end_turn', unseen: [] })
    expect(JSON.stringify(model.requests.map(({ body }) => body))).not.toContain(evilTool)
    expect([made.ran(), made.ranOutside()]).toEqual([[], []])
    expect(world.leftovers()).toEqual([])
  }, 120_000)

  test('killed while its call waits for a person, it is loaded again with a new shim, and the call has its one effect', async () => {
    const { upstream, model } = world.governed
    const { effects } = upstream.state
    const command = run(`Do this:\n@collect ${addTool} {"by":1}`)
    await untilPending(world, command)
    const shims = running(shim, command.pid)
    expect(shims).toHaveLength(1)
    const [kept = 0] = running(keeper, command.pid)
    const [agent = 0] = childrenOf(kept)
    process.kill(agent, 'SIGKILL')
    await expect
      .poll(() => running(shim, command.pid).filter((one) => !shims.includes(one)), startsWithin)
      .toHaveLength(1)
    await approveAll(world, command)
    const ended = await command.ended
    expect(ended.code, ended.stderr).toBe(0)
    expect(ended.stderr).toContain('agent: was killed, and has been started again')
    expect(upstream.state.effects).toBe(effects + 1)
    expect(JSON.stringify(model.results())).toContain(counter())
    expect(told(ended)).toMatchObject({ reason: 'guest_ended', stopReason: 'end_turn' })
    expect(world.leftovers()).toEqual([])
  }, 180_000)

  test.skipIf(!asks || asks === 'other servers')(
    'told no whenever it asks, it calls nothing',
    async () => {
      const before = readings()
      const tool = asks === 'writes' ? `${addTool} {"by":1}` : `${readTool} {}`
      const { stderr } = await run(`Do this:\n@call ${tool}`, ['--acp-permissions', 'deny']).ended
      expect(stderr).toMatch(/^refused: .*counter_/m)
      expect([readings(), await pending(world)]).toEqual([before, []])
      const command = run(`Do this:\n@${asks === 'writes' ? 'collect' : 'call'} ${tool}`)
      await approveAll(world, command)
      expect((await command.ended).stderr).not.toContain('refused: ')
      expect(readings()).toBe(before + 1)
    },
    180_000,
  )

  const evil = async (options: readonly string[] = []) => {
    const workspace = world.workspace()
    const made = makeHostile(workspace, world.outside)
    beAsked(workspace)
    const prompt = `Do this:\n@call evil:${evilWrite} {}\n@call ${readTool} {}`
    const asked = ['--workspace-settings', ...options]
    const { stderr } = await run(prompt, asked, workspace).ended
    expect(made.ran(), stderr).toContain(`mcp-${name}`)
    expect(made.ranOutside()).toEqual([])
    const isCalled = made.ran().includes(evilCall)
    return { isCalled, refused: stderr.match(/^refused: .*/gm) ?? [], stderr }
  }

  test.runIf(asks)(
    'let take servers from the workspace, it is told no to their tools, and yes to those of the session',
    async () => {
      const { isCalled, refused, stderr } = await evil()
      expect([isCalled, refused], stderr).toEqual([false, [expect.stringContaining(evilWrite)]])
      expect(JSON.stringify(world.governed.model.results()), stderr).toContain(counter())
    },
    120_000,
  )

  test.skipIf(asks)(
    'since it does not ask, told no it calls them all the same, in the sandbox',
    async () => {
      const called = await evil(['--acp-permissions', 'deny'])
      expect(called).toMatchObject({ isCalled: true, refused: [] })
    },
    120_000,
  )

  test.runIf(!asks || asks === 'other servers')(
    'since it does not ask for tools of the session, told no it gets what Sallyport lets it have',
    async () => {
      const { effects } = world.governed.upstream.state
      const command = run(`Do this:\n@call ${addTool} {"by":1}`, ['--acp-permissions', 'deny'])
      const { id } = (await anyPending(world, command)) ?? { id: '' }
      await world.governed.sallyport.api('approval.deny', { id }, {})
      expect((await command.ended).stderr).not.toContain('refused: ')
      expect(world.governed.upstream.state.effects).toBe(effects)
    },
    120_000,
  )

  test.runIf(form)(
    'at a terminal its form is filled in by the person, and its model sees what they said',
    async () => {
      const asked = { workspace: world.workspace(), prompt: `Do this:\n@raw ${form}` }
      const terminal = new PromptTerminal(
        ['run', ...world.words(name, program, asked)],
        world.home,
        {
          SALLYPORT_DATA: world.governed.sallyport.dataDir,
          XDG_RUNTIME_DIR: world.runtime,
        },
      )
      try {
        await terminal.shows('(sandbox: bubblewrap)')
        const shown = await terminal.shows('[y/N] ')
        expect(shown).toContain('| Which colour?')
        terminal.type('y')
        expect(await terminal.shows('One of 1 to 2, or nothing: ')).toContain('| 2  Blue: cold')
        terminal.type('2')
        await terminal.shows('Text, or nothing: ')
        terminal.type('')
        await terminal.shows('code 0')
      } finally {
        await terminal.hangUp()
      }
      expect(JSON.stringify(world.governed.model.results())).toMatch(/Which colour\?.*Blue/)
    },
    120_000,
  )
}

/** Else the settings there say themselves that nobody is to be asked. */
function beAsked(workspace: string): void {
  const settings = JSON.stringify({ enableAllProjectMcpServers: true })
  for (const file of ['settings.json', 'settings.local.json'])
    writeFileSync(join(workspace, '.claude', file), settings)
  const file = join(workspace, '.gemini/settings.json')
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"trust":true', '"trust":false'))
}

const told = ({ stdout }: Ended): unknown => JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '')

/** Once there is an approval to be given; rejects when the run has ended. */
async function untilPending(world: AcpWorld, command: RunningCommand): Promise<void> {
  if (await anyPending(world, command)) return
  const { stdout, stderr } = await command.ended
  throw new Error(`it ended before it asked\n${stdout}\n${stderr}`)
}

/** Says yes to everything until the run has ended: an agent that took its call back on its way out asks anew. */
async function approveAll(world: AcpWorld, command: RunningCommand): Promise<void> {
  const { api } = world.governed.sallyport
  for (;;) {
    const one = await anyPending(world, command)
    if (!one) return
    try {
      await api('approval.approve', { id: one.id }, {})
    } catch (thrown) {
      // Taken back between the two requests.
      if (!(thrown instanceof ApiRefusal && thrown.status === 409)) throw thrown
    }
  }
}

const pending = async ({ governed }: AcpWorld) =>
  (await governed.sallyport.api('approval.list', { state: 'pending' })).items

/** Waits for one; undefined once the run has ended. */
async function anyPending(world: AcpWorld, command: RunningCommand) {
  let isOver = false
  void command.ended.then(() => {
    isOver = true
  })
  while (!isOver) {
    const [one] = await pending(world)
    if (one) return one
    await wait(50)
  }
  return undefined
}
