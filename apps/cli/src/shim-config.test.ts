import { parse } from 'smol-toml'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { harnessNames, shimConfig, tokenVariable } from './harness-config.ts'
import { runWords } from './testing/run-words.ts'
import { sampleAnswers } from './testing/sample-answers.ts'
import { ids } from './testing/sample-ids.ts'
import { ScriptedApi } from './testing/scripted-api.ts'

const shim = '/opt/sallyport/sallyport-shim.mjs'
const args = [shim, '--socket', '/run/guest.sock']
const timeout = 600_000

test.each([
  ['claude', { mcpServers: { sallyport: { command: 'node', args } } }],
  [
    'opencode',
    { mcp: { sallyport: { type: 'local', command: ['node', ...args], enabled: true, timeout } } },
  ],
  ['gemini', { mcpServers: { sallyport: { command: 'node', args, trust: true, timeout } } }],
  [
    'pi',
    { mcpServers: { sallyport: { command: 'node', args, exposure: 'direct', timeout: 600 } } },
  ],
  ['generic', { mcpServers: { sallyport: { command: 'node', args } } }],
] as const)('%s starts the shim, by its JSON form', async (name, value) => {
  const { text } = await shimConfig(name, { shim, way: ['--socket', '/run/guest.sock'] })
  expect(JSON.parse(text)).toEqual(value)
})

test('codex starts the shim, by its TOML form', async () => {
  const { text } = await shimConfig('codex', { shim, way: ['--socket', '/run/guest.sock'] })
  expect(parse(text)).toEqual({
    mcp_servers: {
      sallyport: {
        command: 'node',
        args,
        default_tools_approval_mode: 'approve',
        required: true,
        startup_timeout_sec: 30,
        tool_timeout_sec: 600,
      },
    },
  })
})

test('no form has a word about a token', async () => {
  for (const name of harnessNames) {
    const { text } = await shimConfig(name, { shim, way: ['--relay', '/run/relay'] })
    expect(text, name).not.toMatch(/token|bearer|SALLYPORT_/i)
  }
})

describe('sallyport config --shim', () => {
  let api: ScriptedApi
  beforeEach(async () => {
    api = await new ScriptedApi().listen()
  })
  afterEach(() => api.close())

  const run = (...words: string[]) =>
    runWords(['config', 'claude', '--session', ids.session, ...words], {
      env: { SALLYPORT_URL: api.url, SALLYPORT_TOKEN: 't' },
    })
  const argsOf = (stdout: string) => JSON.parse(stdout).mcpServers.sallyport.args

  test.each([
    ['--socket', '/run/guest.sock'],
    ['--relay', '/run/relay'],
  ] as const)('%s is handed to the shim', async (option, place) => {
    const { code, stdout } = await run('--shim', shim, option, place)
    expect({ code, args: argsOf(stdout) }).toEqual({ code: 0, args: [shim, option, place] })
  })

  test('--token-file goes with the endpoint of the session', async () => {
    const { stdout } = await run('--shim', shim, '--token-file', '/run/token')
    const { endpoint } = sampleAnswers['session.show']
    expect(argsOf(stdout)).toEqual([shim, '--url', endpoint, '--token-file', '/run/token'])
  })

  test('with it, nothing goes into the environment', async () => {
    const { stdout } = await run('--shim', shim, '--socket', '/run/guest.sock', '--json')
    expect(JSON.parse(stdout)).toMatchObject({ environment: [] })
    const without = await run('--json')
    expect(JSON.parse(without.stdout)).toMatchObject({ environment: [tokenVariable] })
  })

  test.each([
    [['--shim', shim]],
    [['--socket', '/run/guest.sock']],
    [['--shim', shim, '--socket', '/s', '--relay', '/r']],
  ])('%j is a usage error', async (words) => {
    const { code, stdout, stderr } = await run(...words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain('--shim needs one of')
    expect(api.requests).toEqual([])
  })
})
