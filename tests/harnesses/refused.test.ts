/** What `sallyport run` refuses before anything is made, and what it says of tools that nobody asked for. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type AgentName, agentPrograms, bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { HarnessWorld } from './harness-world.ts'

let world: HarnessWorld

/** A program that says hello and asks for nothing, as the package of an agent program. */
function install(name: AgentName, version: string): string {
  const folder = world.folder(name)
  const program = join(folder, 'cli.js')
  writeFileSync(program, '#!/usr/bin/env node\nconsole.log("hello")\n')
  chmodSync(program, 0o755)
  const { package: of } = agentPrograms[name]
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: of, version }))
  return program
}

const sessions = async () => (await world.governed.sallyport.api('session.list')).items.length

async function refused(options: readonly string[], program: string, profile = 'clients') {
  const workspace = world.folder('workspace')
  mkdirSync(join(workspace, '.codex'))
  const settings = '[mcp_servers.a]\nhttp_headers = { Authorization = "Bearer abcdef" }\n'
  writeFileSync(join(workspace, '.codex/config.toml'), settings)
  const before = await sessions()
  const asked = { workspace, prompt: '', profile, options }
  const { code, stdout, stderr } = await world.run('codex', program, asked)
  return { code, stdout, stderr, made: (await sessions()) - before, left: world.leftovers() }
}

const { minimum } = agentPrograms.codex

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await HarnessWorld.start()
    // Any session needs one, for the control of what is refused.
    await world.run('codex', install('codex', minimum), {
      workspace: world.folder('workspace'),
      prompt: '',
    })
  })
  afterAll(() => world?.end())

  test.each([
    ['harness_missing', [], '/nowhere/codex'],
    ['harness_too_old', [], '0.1.0'],
    ['model_key_exposed', ['--sandbox', 'none', '--allow-host', 'docs.example.com'], minimum],
    ['literal_secret', ['--workspace-settings'], minimum],
  ])('%s: no session, no sandbox, nothing left', async (code, options, what) => {
    const program = what.startsWith('/') ? what : install('codex', what)
    const found = await refused(options, program)
    expect(found).toMatchObject({ code: 1, stdout: '', made: 0, left: [] })
    expect(found.stderr).toMatch(new RegExp(`^${code}: `))
    expect(await refused([], install('codex', minimum))).toMatchObject({ code: 0, made: 1 })
  })

  test('a required connection that cannot be bound stops the start before there is a sandbox', async () => {
    const { api } = world.governed.sallyport
    const { name } = (await api('connection.list')).items[0] ?? { name: '' }
    const program = install('codex', minimum)
    await api('connection.edit', { name }, { required: true })
    await api('connection.disable', { name })
    try {
      const found = await refused([], program)
      expect(found).toMatchObject({ code: 1, stdout: '', made: 0, left: [] })
      expect(found.stderr).toMatch(/^required_unavailable: /)
    } finally {
      await api('connection.edit', { name }, { required: false })
      await api('connection.enable', { name })
    }
    expect(await refused([], program)).toMatchObject({ code: 0, made: 1 })
  })

  test('the tools that a program never asked to see are named when it has ended', async () => {
    const workspace = world.folder('workspace')
    const asked = { workspace, prompt: '', options: ['--json'] }
    const { stdout, stderr } = await world.run('codex', install('codex', minimum), asked)
    expect(stderr).toBe('The agent program has not asked to see: lab__counter_read.\n')
    const [hello, told = ''] = stdout.split('\n')
    expect(hello).toBe('hello')
    expect(JSON.parse(told)).toMatchObject({ code: 0, unseen: ['lab__counter_read'] })
  })
})
