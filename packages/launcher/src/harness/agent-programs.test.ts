/** Every program × how it reaches us × how strict: what is written is what was reviewed, and real parsers read it back. */
import { parse as parseToml } from 'smol-toml'
import { describe, expect, test } from 'vitest'
import { placeholderKey } from '../model-relay/model-access.ts'
import { modelProviderNames, modelProviders } from '../model-relay/model-provider.ts'
import type { AgentProgram, SetUp, SetUpRequest } from './agent-program.ts'
import { allAgentPrograms } from './agent-programs.ts'
import { type Delivery, patienceSeconds, type SettingsFile, settingsText } from './mcp-entry.ts'

const tokenVariable = 'SALLYPORT_SESSION_TOKEN'
const deliveries: Record<Delivery['by'], Delivery> = {
  shim: {
    by: 'shim',
    command: '/opt/sallyport/node',
    args: ['/opt/sallyport/shim.mjs', '--socket', '/run/sallyport/mcp.sock'],
  },
  http: { by: 'http', endpoint: 'http://127.0.0.1:7401/mcp', tokenVariable },
}
const place = { home: '/home/guest', workspace: '/workspace' }

function setUpOf(agent: AgentProgram, more: Partial<SetUpRequest> = {}): SetUp {
  const { provider } = agent
  const baseUrl = `http://127.0.0.1:4100${new URL(modelProviders[provider].url).pathname}`
  const model = { provider, baseUrl: baseUrl.replace(/\/$/, '') }
  return agent.setUp({
    ...place,
    delivery: deliveries.shim,
    strict: true,
    canNest: false,
    model,
    ...more,
  })
}

const parse = ({ format }: SettingsFile, text: string): unknown =>
  format === 'json' ? JSON.parse(text) : parseToml(text)

async function shown({ files, environment, arguments: words }: SetUp): Promise<string> {
  const texts = await Promise.all(
    files.map(async (one) => `# ${one.file}\n${await settingsText(one)}`),
  )
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}\n`)
  return [
    `# arguments\n${words.join(' ')}\n`,
    `# environment\n${variables.join('')}`,
    ...texts,
  ].join('')
}

describe.each(allAgentPrograms)('$name', (agent) => {
  test('is given what was reviewed, by each way, strict or not, with the key outside or inside', async () => {
    const parts: string[] = []
    for (const [way, delivery] of Object.entries(deliveries))
      for (const strict of [true, false])
        for (const key of ['outside', 'inside']) {
          const asked = { delivery, strict, ...(key === 'inside' ? { model: undefined } : {}) }
          const title = `## ${way}, ${strict ? 'strict' : 'with settings of the workspace'}, key ${key}`
          parts.push(`${title}\n${await shown(setUpOf(agent, asked))}`)
        }
    await expect(parts.join('\n')).toMatchFileSnapshot(`golden/${agent.name}.txt`)
  })

  test('reads back from each file what was meant, also what is awkward', async () => {
    const odd = 'a"b\n[x]\n\u0007\\ \u{1f6aa} $HOME {env:HOME}'
    const delivery: Delivery = { by: 'shim', command: odd, args: [odd, ''] }
    for (const file of [agent.entry(delivery), ...setUpOf(agent, { delivery }).files])
      expect(parse(file, await settingsText(file))).toEqual(file.settings)
  })

  test('has one server in all of it, of the name by which its tools are allowed', () => {
    for (const delivery of Object.values(deliveries)) {
      const files = setUpOf(agent, { delivery }).files
      const servers = files.flatMap(({ settings }) =>
        ['mcpServers', 'mcp_servers', 'mcp'].flatMap((key) =>
          Object.keys((settings[key] as object | undefined) ?? {}),
        ),
      )
      expect(servers.filter((name) => name !== 'allowed')).toEqual(['sallyport'])
    }
  })

  test('gives up a call no sooner than a person may take, wherever it counts', async () => {
    const all = await shown(setUpOf(agent))
    const limits = [...all.matchAll(/(?:TOOL_TIMEOUT=|"timeout": |tool_timeout_sec = )(\d+)/g)]
    expect(limits.length).toBeGreaterThan(0)
    for (const [, limit] of limits)
      expect([patienceSeconds, patienceSeconds * 1_000]).toContain(Number(limit))
  })

  test('is told of the token by the name of its variable, and by the shim not at all', async () => {
    const byHttp = await shown(setUpOf(agent, { delivery: deliveries.http }))
    expect(byHttp).toContain(tokenVariable)
    expect(await shown(setUpOf(agent))).not.toMatch(/SALLYPORT_|bearer/i)
  })

  test('is shown no key when the key is outside, and the address of the relay', async () => {
    const { provider } = agent
    const outside = await shown(setUpOf(agent))
    expect(outside).toContain('http://127.0.0.1:4100')
    expect(outside).not.toContain(modelProviders[provider].url)
    const inside = await shown(setUpOf(agent, { model: undefined }))
    expect(inside).not.toMatch(/4100/)
    const direct = { provider, baseUrl: 'http://127.0.0.1:4100', isKeyInside: true } as const
    const without = await shown(setUpOf(agent, { model: direct }))
    expect(without).toContain('http://127.0.0.1:4100')
    for (const text of [inside, without])
      expect(text.replace(/"approved": \[[^\]]*\]/, '')).not.toContain(placeholderKey)
  })
})

test.each(
  modelProviderNames.flatMap((provider) =>
    allAgentPrograms
      .filter(({ name }) => name === 'opencode' || name === 'pi')
      .map((agent) => [agent.name, provider, agent] as const),
  ),
)('%s speaks to %s through the relay', async (_name, provider, agent) => {
  const model = { provider, baseUrl: 'http://127.0.0.1:4100' }
  const text = await shown(setUpOf(agent, { model }))
  expect(text).toContain(`"${provider}": {`)
})
