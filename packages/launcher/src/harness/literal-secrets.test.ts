import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { agentPrograms } from './agent-programs.ts'
import { refuseSecretsOfWords, refuseSecretsOfWorkspace } from './literal-secrets.ts'

let workspace: string
beforeEach(() => {
  workspace = mkdtempSync(join(tmpdir(), 'sallyport-literal-'))
})
afterEach(() => rmSync(workspace, { recursive: true }))

function put(file: string, text: string): void {
  mkdirSync(dirname(join(workspace, file)), { recursive: true })
  writeFileSync(join(workspace, file), text)
}

const headers = (value: string) => `{"mcpServers":{"a":{"url":"https://a","headers":${value}}}}`

test.each([
  ['claude', '.mcp.json', headers('{"Authorization":"Bearer abcdef"}')],
  ['claude', '.mcp.json', headers('{"X-Api-Key":"abcdef"}')],
  ['claude', '.mcp.json', '{"mcpServers":{"a":{"command":"a","env":{"GITHUB_TOKEN":"abc"}}}}'],
  ['claude', '.mcp.json', '{"mcpServers":{"a":{"type":"http","url":"https://me:abc@a.test/mcp"}}}'],
  ['codex', '.codex/config.toml', '[mcp_servers.a]\nhttp_headers = { Authorization = "Bearer a" }'],
  ['codex', '.codex/config.toml', '[mcp_servers.a.env]\nDB_PASSWORD = "abc"'],
  ['opencode', 'opencode.jsonc', '// mine\n{"mcp":{"a":{"headers":{"Cookie":"a=b"},},}}'],
  ['gemini', '.gemini/settings.json', headers('{"authorization":"Basic abc"}')],
  ['pi', '.pi/mcp.json', headers('{"Authorization":"Bearer abc"}')],
] as const)('%s: a secret that stands in %s is refused: %s', async (name, file, text) => {
  const agent = agentPrograms[name]
  await refuseSecretsOfWorkspace(agent, workspace)
  put(file, text)
  const refused = { code: 'literal_secret', field: file }
  await expect(refuseSecretsOfWorkspace(agent, workspace)).rejects.toMatchObject(refused)
})

test.each([
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as the programs spell it
  ['claude', '.mcp.json', headers('{"Authorization":"Bearer ${TOKEN}","X-Team":"core"}')],
  ['codex', '.codex/config.toml', '[mcp_servers.a]\nbearer_token_env_var = "A_TOKEN"'],
  ['codex', '.codex/config.toml', '[mcp_servers.a]\nenv_http_headers = { Authorization = "AUTH" }'],
  ['opencode', 'opencode.json', '{"mcp":{"a":{"headers":{"Authorization":"Bearer {env:T}"}}}}'],
  ['gemini', '.gemini/settings.json', headers('{"Authorization":"Bearer $T"}')],
  ['pi', '.pi/mcp.json', headers('{"Authorization":"!echo Bearer $(pass a)"}')],
  ['claude', '.mcp.json', 'not json at all'],
] as const)('%s: a reference in %s passes: %s', async (name, file, text) => {
  put(file, text)
  await expect(refuseSecretsOfWorkspace(agentPrograms[name], workspace)).resolves.toBeUndefined()
})

test.each([
  [headers('{"Authorization":"Bearer abc"}')],
  [`--mcp-config=${headers('{"Authorization":"Bearer abc"}')}`],
  ['mcp_servers.a.http_headers.Authorization="Bearer abc"'],
  ['mcp_servers.a={url="https://a",http_headers={Authorization="Bearer abc"}}'],
])('on the command line: %s', async (word) => {
  const refused = { code: 'literal_secret', field: 'argument 2' }
  await expect(refuseSecretsOfWords(['-c', word])).rejects.toMatchObject(refused)
})

test.each([
  ['Use the header Authorization: Bearer abc and say why.'],
  ['{"a": "prompt that looks like JSON", "topic": "tokens"}'],
  ['mcp_servers.a.bearer_token_env_var="TOKEN"'],
  ['{ not json'],
])('what is no secret of a server passes: %s', async (word) => {
  await expect(refuseSecretsOfWords(['-p', word])).resolves.toBeUndefined()
})
