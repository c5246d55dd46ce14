/** What is refused before anything is made, each beside its control. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { agentAdapter } from './agent-adapter.ts'
import { agentPrograms } from './agent-programs.ts'
import type { HarnessRequest, PreparedHarness } from './harness-adapter.ts'

let root: string
let workspace: string
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-agent-')))
  workspace = join(root, 'workspace')
  mkdirSync(workspace)
})
afterEach(() => rmSync(root, { recursive: true }))

function put(path: string, text: string, mode = 0o644): string {
  const at = join(root, path)
  mkdirSync(dirname(at), { recursive: true })
  writeFileSync(at, text)
  chmodSync(at, mode)
  return at
}

const script = '#!/usr/bin/env node\n'
const elf = '\x7fELF'

/** As npm installs it: a package, and a link to its program in a folder of PATH. */
function install(version: string, text = script, name = '@openai/codex'): string {
  const target = put(`lib/node_modules/${name}/bin/codex.js`, text, 0o755)
  put(`lib/node_modules/${name}/package.json`, JSON.stringify({ name, version }))
  mkdirSync(join(root, 'bin'))
  symlinkSync(target, join(root, 'bin/codex'))
  return target
}

const shim = { node: process.execPath, program: import.meta.filename }

function prepare(
  more: Partial<HarnessRequest> = {},
  agent: keyof typeof agentPrograms = 'codex',
): Promise<PreparedHarness> {
  const environment = { PATH: `relative:${join(root, 'nothing')}:${join(root, 'bin')}` }
  const asked = { words: [], isolation: 'bubblewrap', environment, shim, workspace } as const
  return agentAdapter(agentPrograms[agent]).prepare({ ...asked, ...more })
}

const { minimum } = agentPrograms.codex

describe('the program', () => {
  test('in PATH is taken with the packages beside it, and started by our Node', async () => {
    install(minimum)
    const { command, mounts } = await prepare({ words: ['exec', 'x'] })
    const program = '/opt/harness/node_modules/@openai/codex/bin/codex.js'
    expect(command).toEqual(['/opt/sallyport/node', program, 'exec', 'x'])
    expect(mounts).toContainEqual({
      from: join(root, 'lib/node_modules'),
      at: '/opt/harness/node_modules',
    })
  })

  test('that no package tells of says its version itself', async () => {
    // Node stands for it: a binary, and no package of that name.
    const { command } = await prepare({ programPath: process.execPath })
    expect(command).toEqual([expect.stringMatching(/\/node$/)])
    const old = { ...agentPrograms.codex, minimum: '999.0.0' }
    const asked = { words: [], isolation: 'bubblewrap', environment: {}, shim, workspace } as const
    const { version } = process
    const field = `codex ${version.slice(1)}, needed is 999.0.0`
    await expect(
      agentAdapter(old).prepare({ ...asked, programPath: process.execPath }),
    ).rejects.toMatchObject({ code: 'harness_too_old', field })
  })

  test('that is asked for its version writes into a home that is gone afterwards', async () => {
    const note = join(root, 'home')
    const text = `#!${process.execPath}
const { appendFileSync, mkdirSync } = require('node:fs')
mkdirSync(process.env.HOME + '/.cache', { recursive: true })
appendFileSync(${JSON.stringify(note)}, process.env.HOME)
console.log('${minimum}')
`
    const { command } = await prepare({ programPath: put('alone/codex', text, 0o755) })
    expect(command).toContain('/opt/harness/codex')
    const home = readFileSync(note, 'utf8')
    expect([home.startsWith(tmpdir()), existsSync(home)]).toEqual([true, false])
  })

  test('is asked for its version also where TMPDIR names a folder that is gone', async () => {
    vi.stubEnv('TMPDIR', join(root, 'gone'))
    try {
      const { command } = await prepare({ programPath: process.execPath })
      expect(command).toEqual([expect.stringMatching(/\/node$/)])
    } finally {
      vi.unstubAllEnvs()
    }
  })

  test('named by its path is that one, whatever is in PATH', async () => {
    install('0.1.0')
    const given = put('other/codex', elf, 0o755)
    put('other/package.json', JSON.stringify({ name: '@openai/codex', version: '1.0.0' }))
    const { command, mounts } = await prepare({ programPath: given })
    expect(command).toEqual(['/opt/harness/codex'])
    expect(mounts).toContainEqual({ from: given, at: '/opt/harness/codex' })
  })

  test('that is nowhere is harness_missing', async () => {
    const missing = { code: 'harness_missing', field: 'codex' }
    await expect(prepare()).rejects.toMatchObject(missing)
    const notExecutable = put('codex.js', script)
    await expect(prepare({ programPath: notExecutable })).rejects.toMatchObject(missing)
    await expect(prepare({ programPath: root })).rejects.toMatchObject(missing)
  })

  test.each(['0.170.99', '0.9.1000', '0.170.0-linux-x64'])(
    '%s: older than the minimum is harness_too_old, and says both',
    async (version) => {
      install(version)
      const field = `codex ${version}, needed is ${minimum}`
      await expect(prepare()).rejects.toMatchObject({ code: 'harness_too_old', field })
    },
  )

  test.each(['0.171.0', '0.171.1', '0.1710.0', '0.171.0-linux-x64'])(
    '%s is new enough',
    async (version) => {
      install(version)
      expect((await prepare()).command).toHaveLength(2)
    },
  )

  test('that is a script which leads elsewhere is harness_unusable', async () => {
    install(minimum, '#!/bin/sh\nexec /somewhere/codex "$@"\n')
    await expect(prepare()).rejects.toMatchObject({ code: 'harness_unusable' })
  })

  test('of another package, which does not say its version, is harness_unusable', async () => {
    install(minimum, script, 'codex-lookalike')
    await expect(prepare()).rejects.toMatchObject({ code: 'harness_unusable' })
  })
})

describe('without walls', () => {
  const channelFolder = '/run/sallyport-run-1'
  const without = (more: Partial<HarnessRequest> = {}, agent?: keyof typeof agentPrograms) =>
    prepare({ isolation: 'none', channelFolder, ...more }, agent)

  test('everything is where it is, and what is written for it is below the folder of the run', async () => {
    const program = install(minimum)
    const found = await without({ words: ['exec'] })
    const home = `${channelFolder}/home`
    expect(found).toMatchObject({
      command: [shim.node, program, 'exec'],
      environment: { HOME: home, CODEX_HOME: `${home}/.codex` },
      mounts: [],
      covered: [],
    })
    const [file] = found.files({ id: '', connections: [], unavailable: [] } as never)
    expect(file?.at).toBe(`${home}/.codex/config.toml`)
    expect(file?.text).toContain(`"${channelFolder}/mcp.sock"`)
    expect(file?.text).toContain(`projects."${workspace}"`)
  })

  test('Codex keeps its commands in its own sandbox, as where it may nest', async () => {
    install(minimum)
    const mode = async (found: Promise<PreparedHarness>) => {
      const [file] = (await found).files({ id: '', connections: [], unavailable: [] } as never)
      return /^sandbox_mode = "(.*)"$/m.exec(file?.text ?? '')?.[1]
    }
    expect(await mode(without())).toBe('workspace-write')
    expect(await mode(prepare({ nested: true }))).toBe('workspace-write')
    expect(await mode(prepare())).toBe('danger-full-access')
  })

  test('a program is refused where it would load what cannot be covered, above the workspace too if it looks there', async () => {
    const alone = (agent: 'gemini' | 'opencode', more: Partial<HarnessRequest> = {}) => {
      const { package: name, minimum: version } = agentPrograms[agent]
      put(`${agent}/package.json`, JSON.stringify({ name, version }))
      return without({ programPath: put(`${agent}/cli.js`, script, 0o755), ...more }, agent)
    }
    const refusedFor = (field: string) => ({ code: 'not_enforceable', field })
    expect(await alone('gemini')).toBeDefined()
    expect(await alone('opencode')).toBeDefined()
    for (const name of ['.gemini', '.opencode']) mkdirSync(join(root, name))
    expect(await alone('gemini')).toBeDefined()
    put('.opencode/plugin/a.js', '')
    const above = join(root, '.opencode')
    await expect(alone('opencode')).rejects.toMatchObject(refusedFor(join(above, 'plugin')))
    rmSync(above, { recursive: true })
    symlinkSync('elsewhere', above)
    await expect(alone('opencode')).rejects.toMatchObject(refusedFor(above))
    mkdirSync(join(workspace, '.gemini'))
    await expect(alone('gemini')).rejects.toMatchObject(refusedFor(join(workspace, '.gemini')))
    expect(await alone('gemini', { workspaceSettings: true })).toMatchObject({ covered: [] })
  })

  test('OpenCode is started below the folder that its installer made, until there is something more in it', async () => {
    const { package: name, minimum: version } = agentPrograms.opencode
    put('.opencode/node_modules/a/index.js', '')
    for (const file of ['.gitignore', 'package.json', 'package-lock.json'])
      put(`.opencode/${file}`, '{}')
    put('.opencode/bin/package.json', JSON.stringify({ name, version }))
    const programPath = put('.opencode/bin/opencode', elf, 0o755)
    expect((await without({ programPath }, 'opencode')).command).toEqual([programPath])
    for (const more of ['opencode.jsonc', 'Plugin', 'not-known-yet']) {
      const field = put(`.opencode/${more}`, '{}')
      const refused = { code: 'not_enforceable', field }
      await expect(without({ programPath }, 'opencode')).rejects.toMatchObject(refused)
      rmSync(field)
    }
  })

  test('a workspace that is not there is file_unreadable, and no folder of the run is not_enforceable', async () => {
    install(minimum)
    const missing = without({ workspace: join(root, 'gone') })
    await expect(missing).rejects.toMatchObject({ code: 'file_unreadable', field: 'workspace' })
    const refused = { code: 'not_enforceable', field: 'sandbox' }
    await expect(prepare({ isolation: 'none' })).rejects.toMatchObject(refused)
  })
})

test('a shim that cannot be read is shim_unreadable', async () => {
  install(minimum)
  for (const other of [{ program: join(root, 'no-shim') }, { node: shim.program }])
    await expect(prepare({ shim: { ...shim, ...other } })).rejects.toMatchObject({
      code: 'shim_unreadable',
    })
  expect(await prepare({ shim })).toBeDefined()
})

describe('a folder of settings that the program cannot be kept from', () => {
  const gemini = (more: Partial<HarnessRequest> = {}) => {
    const programPath = put('gemini/cli.js', script, 0o755)
    const { package: name, minimum: version } = agentPrograms.gemini
    put('gemini/package.json', JSON.stringify({ name, version }))
    return prepare({ programPath, ...more }, 'gemini')
  }

  test('is covered where it is there, and not made where it is not', async () => {
    expect((await gemini()).covered).toEqual([])
    mkdirSync(join(workspace, '.gemini'))
    expect((await gemini()).covered).toEqual(['/workspace/.gemini'])
    expect((await gemini({ workspaceSettings: true })).covered).toEqual([])
  })

  test('is refused when it is a link or a file', async () => {
    const refused = { code: 'not_enforceable', field: '.gemini' }
    symlinkSync('elsewhere', join(workspace, '.gemini'))
    await expect(gemini()).rejects.toMatchObject(refused)
    rmSync(join(workspace, '.gemini'))
    put('workspace/.gemini', '')
    await expect(gemini()).rejects.toMatchObject(refused)
  })
})
