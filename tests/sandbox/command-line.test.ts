/** `sallyport run` and `sallyport sandbox` as a person starts them. */
import { execFile, execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Pty } from '../../apps/cli/src/testing/pty.ts'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { processesWith } from '../harness/processes.ts'
import { grantTools } from '../harness/setup-connection.ts'
import { type CommandOptions, runCommand, startCommand } from '../system/commands.ts'
import { eventually } from '../system/eventually.ts'
import { guestClient } from './guest-client.ts'
import { SandboxWorld } from './sandbox-world.ts'

let world: SandboxWorld
let home: string

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await SandboxWorld.start()
    home = join(world.root, 'home')
    mkdirSync(home)
    const settings = { isolation: ['bubblewrap'] as 'bubblewrap'[] }
    await world.sallyport.api('profile.create', {}, { name: 'walls', settings })
    const upstream = { name: 'counter', url: world.counted.url, read: [], write: ['store'] }
    await grantTools(world.sallyport, { ...upstream, profile: 'asks', settings })
  })
  afterAll(() => world.end())
  describe('sallyport run', runSuite)
  describe('sallyport run, on a terminal', terminalSuite)
  describe('sallyport sandbox', sandboxCommandSuite)
})

const place = (): CommandOptions => ({
  dataDir: world.sallyport.dataDir,
  home,
  env: { XDG_RUNTIME_DIR: world.runtime },
})
const sallyport = (words: readonly string[], more: Partial<CommandOptions> = {}) =>
  runCommand(words, { ...place(), ...more })
const runIn = (words: readonly string[], more: Partial<CommandOptions> = {}) =>
  sallyport(['run', '--profile', 'p', '--workspace', world.workspace(), ...words], more)

const newest = async () => (await world.sallyport.api('session.list')).items[0]

function runSuite(): void {
  test('passes on what the guest says and hears, whole, and how it ends', async () => {
    const stdin = `${'x'.repeat(99)}\n`.repeat(20_000)
    const script = 'sed s/x/y/; echo complaint >&2; exit 4'
    const { code, stdout, stderr } = await runIn(['--', 'sh', '-c', script], { stdin })
    expect(code).toBe(4)
    expect(stdout).toBe(`y${'x'.repeat(98)}\n`.repeat(20_000))
    expect(stderr).toBe('complaint\n')
    expect(await newest()).toMatchObject({
      state: 'ended',
      endReason: 'guest_ended',
      isolation: 'bubblewrap',
    })
    expect(world.leftovers()).toEqual([])
  })

  test.each(['bubblewrap', 'none'])(
    '%s: of a command that is not there its shell says so, with its own code',
    async (sandbox) => {
      const { code, stderr } = await runIn(['--sandbox', sandbox, '--', 'no-such-command'])
      expect([code, stderr]).toEqual([127, expect.stringMatching(/^guest: .*no-such-command/)])
      expect(world.leftovers()).toEqual([])
    },
  )

  test('gives the guest nothing of its own environment', async () => {
    const env = { ...place().env, SALLYPORT_LOG: 'sentinel', AWS_SECRET_ACCESS_KEY: 'sentinel' }
    const { stdout } = await runIn(['--', 'env'], { env })
    expect(stdout).not.toMatch(/sentinel|SALLYPORT/)
    expect(stdout).toContain('SANDBOX_CHANNEL=/run/sallyport\n')
  })

  test('with --json the end is told as one line, after what the guest said', async () => {
    const { stdout, code } = await runIn(['--json', '--', 'echo', 'said'])
    const [said, told = ''] = stdout.split('\n')
    expect([code, said]).toEqual([0, 'said'])
    expect(JSON.parse(told)).toEqual({
      id: expect.stringMatching(/^ses_/),
      code: 0,
      reason: 'guest_ended',
    })
  })

  test('goes on from a session that has ended, and from no other', async () => {
    expect((await runIn(['--', 'true'])).code).toBe(0)
    const { id = '' } = (await newest()) ?? {}
    expect((await runIn(['--continue', id, '--', 'true'])).code).toBe(0)
    expect(await newest()).toMatchObject({ continues: id })
    const open = await world.sallyport.api('session.create', {}, { profile: 'p' })
    const refused = await runIn(['--continue', open.id, '--', 'true'])
    expect([refused.code, refused.stderr]).toEqual([
      6,
      expect.stringContaining('session_not_ended: '),
    ])
  })

  test.each([
    ['a workspace with the data folder in it', () => join(world.sallyport.dataDir, '..')],
    ['the data folder', () => world.sallyport.dataDir],
    ['a folder in the data folder', () => join(world.sallyport.dataDir, 'worker')],
  ])('refuses %s, with walls and without', async (_what, workspace) => {
    for (const sandbox of ['bubblewrap', 'none']) {
      const words = ['--profile', 'p', '--sandbox', sandbox, '--workspace', workspace()]
      const { code, stderr } = await sallyport(['run', ...words, '--', 'true'])
      expect([code, stderr]).toEqual([1, expect.stringMatching(/^workspace_refused: /)])
    }
    expect(world.leftovers()).toEqual([])
  })

  test('class none is for profiles that accept it', async () => {
    const words = ['run', '--profile', 'walls', '--workspace', world.workspace()]
    const refused = await sallyport([...words, '--sandbox', 'none', '--', 'true'])
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^isolation_refused: /),
    ])
    expect((await sallyport([...words, '--', 'true'])).code).toBe(0)
    expect((await runIn(['--sandbox', 'none', '--', 'true'])).code).toBe(0)
    expect(await newest()).toMatchObject({
      isolation: 'none',
      sandbox: { owner: expect.any(Number) },
    })
  })

  test.each([
    ['no command', ['run'], 'There is no command.'],
    ['an agent program that is not known', ['run', 'clippy'], 'That agent program is not known.'],
    ['options before the dashes', ['run', 'claude', '-p', 'x'], 'option .-p.* comes after "--"'],
    ['words before the dashes', ['run', 'generic', 'x', '--', 'y'], 'What the guest is given'],
    ['a sandbox that there is not', ['run', '--sandbox', 'castle', '--', 'x'], 'castle|possible'],
  ])('says what is wrong with %s', async (_what, words, sentence) => {
    const { code, stderr } = await sallyport(words)
    expect([code, stderr]).toEqual([2, expect.stringMatching(new RegExp(sentence))])
  })

  test('without a profile it takes the only one there is, and else says that there are several', async () => {
    const { code, stderr } = await sallyport([
      'run',
      '--workspace',
      world.workspace(),
      '--',
      'true',
    ])
    expect([code, stderr]).toEqual([2, expect.stringContaining('Several profiles accept')])
    const words = ['run', '--sandbox', 'none', '--workspace', world.workspace(), '--', 'true']
    expect((await sallyport(words)).code).toBe(0)
  })

  test('told to end, it ends the session, then the guest, and says so to both', async () => {
    const seconds = `${7000 + Math.random() * 1000}`
    const workspace = world.workspace()
    const script = `trap 'echo told > told; exit 0' TERM; echo > ready; sleep ${seconds} & wait`
    const words = ['run', '--profile', 'p', '--workspace', workspace, '--', 'sh', '-c', script]
    const command = startCommand(words, place())
    await eventually(() => existsSync(join(workspace, 'ready')), Boolean, 20_000)
    command.kill('SIGTERM')
    expect((await command.ended).code).toBe(0)
    expect(existsSync(join(workspace, 'told'))).toBe(true)
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'launcher_stopped' })
    expect(processesWith(seconds)).toEqual([])
  })

  test('a reader that has seen enough ends it in good order', async () => {
    const words = ['run', '--profile', 'p', '--workspace', world.workspace(), '--']
    const script = 'while :; do echo said; done'
    const bin = join(import.meta.dirname, '../../apps/cli/bin/sallyport.js')
    const line = `"$0" "$@" | head -n 2; echo "\${PIPESTATUS[0]}"`
    const env = { PATH: '/usr/bin:/bin', HOME: home, SALLYPORT_DATA: world.sallyport.dataDir }
    const all = ['-c', line, process.execPath, bin, ...words, 'sh', '-c', script]
    const run = promisify(execFile)
    const { stdout } = await run('bash', all, { env: { ...env, XDG_RUNTIME_DIR: world.runtime } })
    expect(stdout).toMatch(/^said\nsaid\n\d+\n$/)
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'launcher_stopped' })
    expect(world.leftovers()).toEqual([])
  })

  test('a session that somebody else ends takes its guest with it', async () => {
    const seconds = `${8000 + Math.random() * 1000}`
    const workspace = world.workspace()
    const script = `trap '' TERM; echo > ready; while :; do sleep ${seconds}; done`
    const words = ['run', '--profile', 'p', '--workspace', workspace, '--', 'sh', '-c', script]
    const command = startCommand(words, place())
    await eventually(() => existsSync(join(workspace, 'ready')), Boolean, 20_000)
    const { id = '' } = (await newest()) ?? {}
    await world.sallyport.api('session.end', { id }, {})
    const { code, stderr } = await command.ended
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^session_ended: .*ended_by_user/)])
    expect(processesWith(seconds)).toEqual([])
  })
}

function terminalSuite(): void {
  const hasScript = ((): boolean => {
    try {
      return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux')
    } catch {
      return false
    }
  })()
  let pty: Pty | undefined
  afterEach(() => pty?.kill())
  const bin = join(import.meta.dirname, '../../apps/cli/bin/sallyport.js')
  /** The words of a shell. */
  const onTerminal = (words: string): Pty => {
    const lines = [`"${process.execPath}" "${bin}" run ${words}`, 'echo "code $?"']
    const env = { SALLYPORT_DATA: world.sallyport.dataDir, XDG_RUNTIME_DIR: world.runtime }
    pty = new Pty(lines, home, env)
    return pty
  }
  const shows = ({ screen }: Pty, text: string) =>
    eventually(
      () => screen.text,
      (found) => found.includes(text),
      20_000,
    )

  test.skipIf(!hasScript)(
    'the guest has the terminal, and an interrupt is for it alone',
    async () => {
      const script = 'trap : INT; stty size; cat; echo went on; read x; exit 5'
      const on = onTerminal(`--profile p --workspace ${world.workspace()} -- sh -c '${script}'`)
      await shows(on, '24 80')
      expect(on.screen.text).toMatch(/ses_\w{26} \(sandbox: bubblewrap\)/)
      on.type('typed\n')
      await eventually(
        () => on.screen.text.split('typed').length,
        (count) => count === 3,
      )
      on.type('\x03')
      await shows(on, 'went on')
      on.type('\n')
      await shows(on, 'code 5')
      expect(await newest()).toMatchObject({ endReason: 'guest_ended' })
    },
  )

  test.skipIf(!hasScript)(
    'of a guest that is killed there it is said, and the terminal is put back',
    async () => {
      const draws = String.raw`printf "\033[?1049h\033[?25l\033[?1003h\033[?2004h"; kill -9 $$`
      const on = onTerminal(`--profile p --workspace ${world.workspace()} -- sh -c '${draws}'`)
      await shows(on, 'code 137')
      expect(on.screen.text).toContain('The guest was killed: SIGKILL.')
      expect(on.screen.written).toContain('\x1b[?1003h')
      for (const [mode, isOn] of [
        [1003, false],
        [2004, false],
        [25, true],
      ] as const)
        expect(on.screen.modes.has(mode), `${mode}`).toBe(isOn)
      expect(on.screen.written).toContain('\x1b[?1047l')
    },
  )

  test.skipIf(!hasScript)('its title says that an approval waits, as long as it does', async () => {
    const id = randomUUID()
    const workspace = world.workspace()
    const program = guestClient([{ name: 'counter__store', arguments: { id } }])
    writeFileSync(join(workspace, 'guest.cjs'), program)
    const command = '/opt/sallyport/node guest.cjs'
    const on = onTerminal(`--profile asks --workspace ${workspace} -- ${command}`)
    await eventually(
      () => on.screen.title,
      (title) => title === 'Sallyport: 1 approval waits',
      20_000,
    )
    const { items } = await world.sallyport.api('approval.list', { state: 'pending' })
    await world.sallyport.api('approval.approve', { id: items[0]?.id ?? '' }, {})
    await shows(on, 'code 0')
    expect([on.screen.title, world.counted.effects(id)]).toEqual(['', 1])
  })
}

function sandboxCommandSuite(): void {
  test('verify makes one, tries its walls, and shows what was planned and seen', async () => {
    const { code, stdout, stderr } = await sallyport(['sandbox', 'verify', '--json'])
    expect([code, stderr]).toEqual([0, ''])
    const { items, plan, evidence } = JSON.parse(stdout)
    expect(items.every(({ state }: { state: string }) => state === 'ok')).toBe(true)
    const ids = items.map(({ id }: { id: string }) => id)
    expect(ids).toEqual(expect.arrayContaining(['namespaces', 'network', 'mounts', 'probe']))
    expect(plan.isolation).toBe('bubblewrap')
    expect(evidence.seccomp).toEqual({ mode: 2, filters: 1 })
    const text = await sallyport(['sandbox', 'verify'])
    expect(text.stdout).toMatch(/^ok {2}namespaces: /m)
  })

  test('doctor says what this machine can isolate', async () => {
    const { stdout } = await sallyport(['doctor'])
    expect(stdout).toMatch(/^ok {2}isolation: bubblewrap makes sandboxes here/m)
  })
}
