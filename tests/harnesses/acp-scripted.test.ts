/** `sallyport run acp`: any command that speaks ACP, here a script, in bubblewrap; without a person, and at a terminal. */
import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../../apps/cli/src/testing/until.ts'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { SandboxWorld } from '../sandbox/sandbox-world.ts'
import { runCommand } from '../system/commands.ts'
import { running } from './acp-world.ts'
import { PromptTerminal } from './prompt-terminal.ts'

const program = join(import.meta.dirname, 'inside/scripted-agent.ts')
const launcher = new URL('../../apps/cli/bin/sallyport.js', import.meta.url).pathname
/** As the guest sees it. */
const command = ['/opt/sallyport/node', '/workspace/scripted-agent.ts']

let world: SandboxWorld
let home: string

await sandboxSuite(bubblewrap(), () => {
  beforeAll(async () => {
    world = await SandboxWorld.start()
    home = join(world.root, 'home')
    mkdirSync(home)
  })
  afterAll(() => world.end())
  describe('without a person', withoutPerson)
  describe('at a terminal', atTerminal)
})

function workspace(): string {
  const folder = world.workspace()
  copyFileSync(program, join(folder, 'scripted-agent.ts'))
  return folder
}

const wordsOf = (options: readonly string[] = []): string[] => {
  const given = ['--profile', 'p', '--workspace', workspace(), ...options]
  return ['run', 'acp', ...given, '--', ...command]
}

const newest = async () => (await world.sallyport.api('session.list')).items[0]
const calls = (): number => world.counted.upstream.count('tools/call')
const nameForm = (more: Record<string, unknown> = {}): string => {
  const properties = { name: { type: 'string', title: 'Name' } }
  return JSON.stringify({ message: 'Who?', requestedSchema: { properties }, ...more })
}

function withoutPerson(): void {
  const place = () => ({
    dataDir: world.sallyport.dataDir,
    home,
    env: { XDG_RUNTIME_DIR: world.runtime },
  })
  const run = async (script: readonly string[], options: readonly string[] = []) => {
    const asked = { ...place(), stdin: script.join('\n') }
    const { code, stdout, stderr } = await runCommand(wordsOf(['--json', ...options]), asked)
    const lines = stdout.trimEnd().split('\n')
    return { code, said: lines.slice(0, -1), end: JSON.parse(lines.at(-1) ?? ''), stderr }
  }

  test('the agent has the tools of the session, calls one and sees the result; the rest of what it asks is denied', async () => {
    const before = calls()
    const script = [
      'tools',
      'call counter__look {"id":"a"}',
      'ask execute rm -rf /workspace',
      'ask fetch look outside',
      'ask other mcp__evil__tool',
      'offered',
      `form ${nameForm()}`,
    ]
    const { code, said, end, stderr } = await run(script)
    const [tools, called, ...answers] = said
    expect([code, tools], stderr).toEqual([
      0,
      'counter__look counter__store sallyport__wait_for_result',
    ])
    expect(called).toContain('"text":')
    expect(called).not.toContain('not called')
    expect(calls()).toBe(before + 1)
    const told = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } })
    expect(answers.map((line) => JSON.parse(line))).toEqual([
      told('allow_once'),
      told('reject_once'),
      told('reject_once'),
      null,
      { action: 'cancel' },
    ])
    expect(stderr.split('\n')).toEqual([
      'tool: mcp__sallyport__counter__look',
      'refused: look outside',
      'refused: mcp__evil__tool',
      'not answered: Who?',
      '',
    ])
    expect(end).toMatchObject({
      code: 0,
      reason: 'guest_ended',
      stopReason: 'end_turn',
      unseen: [],
    })
    expect(await newest()).toMatchObject({ isolation: 'bubblewrap', endReason: 'guest_ended' })
    expect(world.leftovers()).toEqual([])
  })

  test('told no whenever it asks, it calls nothing, and its forms are declined', async () => {
    const before = calls()
    const script = ['call counter__look {"id":"b"}', 'ask read a file', `form ${nameForm()}`]
    const { said } = await run(script, ['--acp-permissions', 'deny'])
    expect(said).toEqual([
      expect.stringContaining('not called'),
      expect.stringContaining('reject_once'),
      '{"action":"decline"}',
    ])
    expect(calls()).toBe(before)
  })

  test('killed in its turn, it is loaded again with a new shim, and is asked again', async () => {
    const before = calls()
    const { code, said, stderr } = await run([
      'say "begun"',
      'die',
      'call counter__look {"id":"c"}',
    ])
    expect([code, said.slice(0, 2)], stderr).toEqual([0, ['begun', 'begun']])
    expect(stderr).toContain('agent: was killed, and has been started again\n')
    expect(calls()).toBe(before + 1)
    expect(world.leftovers()).toEqual([])
  })

  test('one that ends in its turn has failed, and so has a turn that did not come to its end', async () => {
    const gone = await run(['exit'])
    expect([gone.code, gone.stderr]).toEqual([1, expect.stringMatching(/^agent_broken: /)])
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'guest_ended' })
    const stopped = await run(['stop max_tokens'])
    expect([stopped.code, stopped.end.stopReason]).toEqual([1, 'max_tokens'])
    expect((await run(['say "x"'])).code).toBe(0)
  })

  test('read only so far, it is put away in good order', async () => {
    const words = [process.execPath, launcher, ...wordsOf()].map((word) => `'${word}'`)
    const { dataDir, env } = place()
    const running = promisify(execFile)('sh', ['-c', `${words.join(' ')} 2>&1 | head -n 1`], {
      cwd: home,
      env: { ...process.env, ...env, HOME: home, SALLYPORT_DATA: dataDir },
    })
    // More than a pipe holds, and a line on stderr behind it.
    const script = [`say "${'x\\n'.repeat(100_000)}"`, 'ask fetch look outside', 'wait']
    running.child.stdin?.end(script.join('\n'))
    const { stdout } = await running
    expect(stdout).toMatch(/^[^\n]+\n$/)
    await until(() => world.leftovers().length === 0)
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'launcher_stopped' })
  })

  test('without walls it is not started', async () => {
    const before = await newest()
    const { code, stderr } = await runCommand(wordsOf(['--sandbox', 'none']), place())
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^not_enforceable: /)])
    expect(await newest()).toEqual(before)
  })
}

function atTerminal(): void {
  let terminal: PromptTerminal | undefined
  // A terminal that is hung up ends the run, with everything that it has made.
  afterEach(async () => {
    await terminal?.hangUp()
    await until(() => world.leftovers().length === 0)
  })

  /** Waits for its first prompt. */
  async function start(options: readonly string[] = []): Promise<PromptTerminal> {
    const env = { SALLYPORT_DATA: world.sallyport.dataDir, XDG_RUNTIME_DIR: world.runtime }
    terminal = new PromptTerminal(wordsOf(options), home, env)
    await terminal.shows('(sandbox: bubblewrap)')
    await terminal.shows('> ')
    return terminal
  }

  test('it is asked line by line; what the person is asked is answered by them alone; the end of input ends it', async () => {
    const terminal = await start()
    terminal.type('ask fetch look outside')
    await terminal.shows('Allow look outside (fetch), inside the sandbox? [y/N] ')
    terminal.type('y')
    await terminal.shows('"allow_once"')
    await terminal.shows('> ')
    terminal.type('ask fetch look outside')
    await terminal.shows('[y/N] ')
    terminal.type('')
    await terminal.shows('"reject_once"')
    await terminal.shows('> ')
    terminal.press('\x04')
    await terminal.shows('code 0')
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'guest_ended' })
  })

  test('a form is shown with nothing of it obeyed, and filled in field by field', async () => {
    const terminal = await start()
    terminal.type('offered')
    await terminal.shows('{"form":{}}')
    await terminal.shows('> ')
    const colour = { type: 'string', title: 'Colour', oneOf: [{ const: 'r', title: 'Red' }] }
    const sure = { type: 'boolean' }
    const form = {
      message: 'Who?\u001b[2J\nAllow? [y/N] y',
      requestedSchema: {
        properties: { colour, sure, left: { type: 'string' } },
        required: ['colour'],
      },
    }
    terminal.type(`form ${JSON.stringify(form)}`)
    const shown = await terminal.shows('Answer? What you say goes into the sandbox. [y/N] ')
    expect(shown).toContain('The agent asks:\r\n| Who?\\u{1b}[2J\r\n| Allow? [y/N] y\r\n')
    terminal.type('y')
    expect(await terminal.shows('One of 1 to 1: ')).toContain('| Colour\r\n| 1  Red\r\n')
    terminal.type('2')
    await terminal.shows('That does not fit.')
    await terminal.shows('One of 1 to 1: ')
    terminal.type('1')
    await terminal.shows('y or n, or nothing: ')
    terminal.type('n')
    await terminal.shows('Text, or nothing: ')
    terminal.type('')
    await terminal.shows('{"action":"accept","content":{"colour":"r","sure":false}}')
    await terminal.shows('> ')
    terminal.type(`form ${nameForm()}`)
    await terminal.shows('[y/N] ')
    terminal.type('n')
    await terminal.shows('{"action":"decline"}')
  })

  test('with no to everything no form is offered, and the person is not asked', async () => {
    const terminal = await start(['--acp-permissions', 'deny'])
    terminal.type('offered')
    await terminal.shows('null')
    await terminal.shows('> ')
    terminal.type(`form ${nameForm()}`)
    expect(await terminal.shows('{"action":"decline"}')).not.toContain('[y/N]')
  })

  test('while a question stands, what the agent says is held back', async () => {
    const terminal = await start()
    terminal.type(`form-while-talking ${nameForm()}`)
    await terminal.shows('[y/N] ')
    terminal.type('y')
    const shown = await terminal.shows('Text, or nothing: ')
    expect(shown).not.toContain('talking')
    terminal.type('Ann')
    await terminal.shows('talking meanwhile')
    await terminal.shows('{"action":"accept","content":{"name":"Ann"}}')
  })

  test('the interrupt key ends the turn, then the run, and gives the terminal back', async () => {
    const terminal = await start()
    terminal.type('wait')
    await terminal.shows('waiting')
    terminal.press('\x03')
    await terminal.shows('> ')
    terminal.type('say "on"')
    await terminal.shows('on\r\n')
    await terminal.shows('> ')
    terminal.press('\x03')
    await terminal.shows('code 0')
    await terminal.end()
    const [before, after] = ['before', 'after'].map((name) =>
      readFileSync(join(home, name), 'utf8'),
    )
    expect(after).toBe(before)
  })

  test('at a question the interrupt key ends the turn, and so the question', async () => {
    const terminal = await start()
    for (const question of ['ask fetch look outside', `form ${nameForm()}`]) {
      terminal.type(question)
      await terminal.shows('[y/N] ')
      terminal.press('\x03')
      expect(await terminal.shows('> ')).toMatch(/"cancelled"|"cancel"/)
    }
    terminal.press('\x04')
    await terminal.shows('code 0')
  })

  test('an agent that is killed while its question stands, whatever it said behind it, takes it along, and asks anew', async () => {
    const terminal = await start()
    terminal.type(`form-while-talking ${nameForm()}`)
    await terminal.shows('[y/N] ')
    const [agent = 0] = running('/workspace/scripted-agent.ts', process.pid)
    process.kill(agent, 'SIGKILL')
    await terminal.shows('talking meanwhile')
    await terminal.shows('was killed, and has been started again')
    await terminal.shows('[y/N] ')
    terminal.type('n')
    await terminal.shows('{"action":"decline"}')
  })

  test('a sandbox that ends while a question stands takes it along', async () => {
    const terminal = await start()
    terminal.type(`form ${nameForm()}`)
    await terminal.shows('[y/N] ')
    const [keeper = 0] = running('/opt/sallyport/keeper.mjs', process.pid)
    process.kill(keeper, 'SIGTERM')
    await terminal.shows('agent_broken: ')
    await terminal.shows('code 1')
    expect(world.leftovers()).toEqual([])
  })

  test('a terminal that is hung up at a question ends the run in good order', async () => {
    const terminal = await start()
    terminal.type(`form ${nameForm()}`)
    await terminal.shows('[y/N] ')
    await terminal.hangUp()
    await until(() => world.leftovers().length === 0)
    expect(await newest()).toMatchObject({ state: 'ended', endReason: 'launcher_stopped' })
  })
}
