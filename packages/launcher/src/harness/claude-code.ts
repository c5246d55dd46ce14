/** Claude Code. It is told by arguments what to load, and by them that it is to load nothing else. */
import { placeholderKey, standInKey } from '../model-relay/model-access.ts'
import type { AgentProgram, SetUpRequest } from './agent-program.ts'
import {
  bearer,
  type Delivery,
  patienceSeconds,
  type Settings,
  serverName,
  startSeconds,
} from './mcp-entry.ts'

const servers = '~/.claude/sallyport-mcp.json'

export const claudeCode: AgentProgram = {
  name: 'claude',
  provider: 'anthropic',
  package: '@anthropic-ai/claude-code',
  program: 'claude',
  minimum: '2.1.332',
  covered: [],
  workspaceServers: ['.mcp.json'],
  entry: (delivery) => ({ file: '.mcp.json', format: 'json', settings: serversOf(delivery) }),
  setUp: (asked) => ({
    files: [
      { file: servers, format: 'json', settings: serversOf(asked.delivery) },
      { file: '~/.claude/settings.json', format: 'json', settings: settings() },
      { file: '~/.claude.json', format: 'json', settings: state(asked) },
    ],
    environment: environment(asked),
    arguments: [
      // With `=`: what follows would be taken for more of the same.
      `--mcp-config=${asked.home}${servers.slice(1)}`,
      ...(asked.strict ? ['--strict-mcp-config', '--setting-sources', 'user'] : []),
    ],
  }),
}

function serversOf(delivery: Delivery): Settings {
  if (delivery.by === 'shim') {
    const { command, args } = delivery
    return { mcpServers: { [serverName]: { command, args } } }
  }
  const { endpoint: url, tokenVariable } = delivery
  return { mcpServers: { [serverName]: { type: 'http', url, ...bearer(`\${${tokenVariable}}`) } } }
}

/** The server has the tools of the session and no others, and Sallyport decides about each call. */
const settings = (): Settings => ({ permissions: { allow: [`mcp__${serverName}`] } })

/** Else it asks, before anything, for a theme, whether the folder is trusted, and whether the key may be used. */
function state({ workspace }: SetUpRequest): Settings {
  return {
    hasCompletedOnboarding: true,
    customApiKeyResponses: { approved: [placeholderKey], rejected: [] },
    projects: { [workspace]: { hasTrustDialogAccepted: true } },
  }
}

function environment({ model }: SetUpRequest) {
  const key = standInKey(model)
  return {
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    MCP_TIMEOUT: `${startSeconds * 1_000}`,
    MCP_TOOL_TIMEOUT: `${patienceSeconds * 1_000}`,
    ...(model ? { ANTHROPIC_BASE_URL: model.baseUrl } : {}),
    ...(key === undefined ? {} : { ANTHROPIC_API_KEY: key }),
  }
}
