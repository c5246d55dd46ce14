import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ClientRun, type Job, makePlace, tokenVariable } from './client-run.ts'

export async function startClaude(
  job: Job & { readonly args?: readonly string[] },
): Promise<ClientRun> {
  const place = await makePlace('claude')
  const config = join(place.folder, 'mcp.json')
  const headers = { Authorization: `Bearer \${${tokenVariable}}` }
  const { name, endpoint } = job.server
  const mcpServers = { [name]: { type: 'http', url: endpoint, headers } }
  await writeFile(config, JSON.stringify({ mcpServers }), { mode: 0o600 })
  const { program, callLimitMs, runLimitMs } = job
  return place.start({
    program,
    args: [
      ...['-p', job.prompt, '--model', 'claude-opus-5'],
      ...['--mcp-config', config, '--strict-mcp-config', '--allowedTools', `mcp__${name}`],
      ...(job.args ?? []),
    ],
    env: {
      ANTHROPIC_BASE_URL: job.modelUrl,
      ANTHROPIC_API_KEY: 'sk-ant-fake',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      [tokenVariable]: job.server.token,
      ...(callLimitMs === undefined ? {} : { MCP_TOOL_TIMEOUT: String(callLimitMs) }),
    },
    runLimitMs,
  })
}
