import { parse } from 'smol-toml'
import { expect, test } from 'vitest'
import { harnessConfig, harnessNames } from './harness-config.ts'

const endpoint = 'http://127.0.0.1:7401/mcp'

test.each([
  [
    'claude',
    {
      mcpServers: {
        sallyport: {
          type: 'http',
          url: endpoint,
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference as the program expands it
          headers: { Authorization: 'Bearer ${SALLYPORT_SESSION_TOKEN}' },
        },
      },
    },
  ],
  [
    'opencode',
    {
      mcp: {
        sallyport: {
          type: 'remote',
          url: endpoint,
          enabled: true,
          oauth: false,
          timeout: 600_000,
          headers: { Authorization: 'Bearer {env:SALLYPORT_SESSION_TOKEN}' },
        },
      },
    },
  ],
  [
    'gemini',
    {
      mcpServers: {
        sallyport: {
          httpUrl: endpoint,
          timeout: 600_000,
          trust: true,
          headers: { Authorization: 'Bearer $SALLYPORT_SESSION_TOKEN' },
        },
      },
    },
  ],
  [
    'pi',
    {
      mcpServers: {
        sallyport: {
          url: endpoint,
          exposure: 'direct',
          timeout: 600,
          // biome-ignore lint/suspicious/noTemplateCurlyInString: the reference as the program expands it
          headers: { Authorization: 'Bearer ${SALLYPORT_SESSION_TOKEN}' },
        },
      },
    },
  ],
] as const)('%s gets its JSON form', async (name, value) => {
  const { format, text } = await harnessConfig(name, endpoint)
  expect(format).toBe('json')
  expect(JSON.parse(text)).toEqual(value)
})

test('codex gets TOML that names the variable', async () => {
  const { format, text } = await harnessConfig('codex', endpoint)
  expect(format).toBe('toml')
  expect(parse(text)).toEqual({
    features: { shell_snapshot: false },
    mcp_servers: {
      sallyport: {
        url: endpoint,
        bearer_token_env_var: 'SALLYPORT_SESSION_TOKEN',
        default_tools_approval_mode: 'approve',
        required: true,
        startup_timeout_sec: 30,
        tool_timeout_sec: 600,
      },
    },
  })
})

test('an address with quotes and line ends stays one value in every form', async () => {
  const odd = 'http://127.0.0.1:1/"\n[x]\n\u0007\\'
  for (const name of harnessNames) {
    const { format, text } = await harnessConfig(name, odd)
    const values = JSON.stringify(format === 'toml' ? parse(text) : JSON.parse(text))
    expect(values).toContain(JSON.stringify(odd))
  }
})
