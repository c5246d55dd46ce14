/** The key of a model, from a person's command line to the service: outside, inside, or not there. */
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { bubblewrap } from '@sallyport/launcher'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { sandboxSuite } from '../../packages/launcher/src/testing/sandbox-suite.ts'
import { type CommandOptions, type Ended, runCommand } from '../system/commands.ts'
import { SandboxWorld } from './sandbox-world.ts'

const key = 'sk-outside-0123456789abcdef'
const askModel = `fetch(process.env.SANDBOX_MODEL_URL + '/responses', { method: 'POST', headers: { authorization: 'Bearer guess' }, body: 'x' })
  .then(async (got) => console.log(got.status, await got.text()), (error) => console.log(error.cause.code))`

await sandboxSuite(bubblewrap(), () => {
  let world: SandboxWorld
  let service: Server
  let url: string
  let keys: (string | undefined)[]
  beforeAll(async () => {
    world = await SandboxWorld.start()
    mkdirSync(join(world.root, 'home'))
    writeFileSync(join(world.root, 'key'), `${key}\n`, { mode: 0o600 })
    service = createServer(({ headers }, answer) => {
      keys.push(headers.authorization)
      answer.end('said')
    }).listen(0, '127.0.0.1')
    await once(service, 'listening')
    url = `http://127.0.0.1:${(service.address() as { port: number }).port}/v1`
  })
  beforeEach(() => {
    keys = []
  })
  afterAll(async () => {
    service?.close()
    await world?.end()
  })

  async function run(
    options: readonly string[],
    words: readonly string[],
    env = {},
  ): Promise<Ended> {
    const place: CommandOptions = {
      dataDir: world.sallyport.dataDir,
      home: join(world.root, 'home'),
      env: { XDG_RUNTIME_DIR: world.runtime, ...env },
    }
    const given = ['--profile', 'p', '--workspace', world.workspace(), ...options]
    return await runCommand(['run', ...given, '--', ...words], place)
  }
  const node = (program: string) => ['/opt/sallyport/node', '-e', program]
  const newest = async () => (await world.sallyport.api('session.list')).items[0]
  const openai = () => ['--model-provider', 'openai', '--model-url', url]

  test.each([
    ['a file', () => ['--model-key-file', join(world.root, 'key')], {}],
    ['the variable of the provider', () => [], { OPENAI_API_KEY: key }],
  ])(
    'by %s it reaches the service and not the guest; the session says so',
    async (_, more, env) => {
      const script = `console.log(JSON.stringify(process.env));${askModel}`
      const { stdout, code } = await run([...openai(), ...more()], node(script), env)
      expect(code).toBe(0)
      expect(stdout).toContain('200 said')
      expect(stdout).not.toContain(key)
      expect(keys).toEqual([`Bearer ${key}`])
      const reach = { model: `${url}/`, modelKey: 'outside', hosts: [] }
      expect(await newest()).toMatchObject({ sandbox: { reach } })
    },
  )

  test('the control: inside it is where the guest can read it, and the session says that', async () => {
    const options = ['--model-provider', 'openai', '--model-key', 'inside']
    const { stdout } = await run(options, ['env'], { OPENAI_API_KEY: key })
    expect(stdout).toContain(`OPENAI_API_KEY=${key}\n`)
    expect(stdout).not.toContain('SANDBOX_MODEL_URL')
    const reach = { model: null, modelKey: 'inside', hosts: ['api.openai.com:443'] }
    expect(await newest()).toMatchObject({ sandbox: { reach } })
  })

  test.each([
    ['model_key_missing', ['--model-provider', 'openai'], {}],
    ['bad_secret', ['--model-provider', 'openai'], { OPENAI_API_KEY: 'a b' }],
    ['bad_model_url', ['--model-provider', 'openai', '--model-url', 'http://10.0.0.1/v1'], {}],
    ['bad_host_rule', ['--allow-host', 'a.example:22'], {}],
    ['model_key_exposed', ['--sandbox', 'none', '--allow-host', 'a.example'], {}],
    ['usage', ['--model-key', 'inside'], {}],
  ])('%s is told before anything is made', async (code, options, env) => {
    const before = await newest()
    const { stderr, stdout } = await run(options, ['echo', 'ran'], env)
    expect(stderr).toMatch(new RegExp(`^${code}: `))
    expect(stderr).not.toContain('a b')
    expect(stdout).toBe('')
    expect((await newest())?.id).toBe(before?.id)
    expect(world.leftovers()).toEqual([])
  })

  test('a model that is denied is told as such, and the guest never runs', async () => {
    const { hostname, port } = new URL(url)
    await world.sallyport.api('denySet.edit', {}, { add: [`${hostname}:${port}`], remove: [] })
    const { stderr, stdout } = await run(openai(), ['echo', 'ran'], { OPENAI_API_KEY: key })
    expect(stderr).toMatch(/^host_denied: .*field model/)
    expect(stdout).toBe('')
    expect(keys).toEqual([])
    expect(world.leftovers()).toEqual([])
  })
})
