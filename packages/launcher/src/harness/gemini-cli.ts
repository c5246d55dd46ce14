/**
 * Gemini CLI. It starts no server in a folder that is not trusted, and loads everything of one that is: so it is told to
 * trust, and what it would load is covered.
 */
import { standInKey } from '../model-relay/model-access.ts'
import type { AgentProgram, SetUpRequest } from './agent-program.ts'
import { bearer, type Delivery, patienceSeconds, type Settings, serverName } from './mcp-entry.ts'

export const geminiCli: AgentProgram = {
  name: 'gemini',
  provider: 'google',
  package: '@google/gemini-cli',
  program: 'gemini',
  minimum: '0.61.0',
  covered: ['.gemini'],
  workspaceServers: ['.gemini/settings.json'],
  entry: (delivery) => ({
    file: '~/.gemini/settings.json',
    format: 'json',
    settings: serversOf(delivery),
  }),
  setUp: (asked) => ({
    files: [{ file: '~/.gemini/settings.json', format: 'json', settings: settings(asked) }],
    environment: environment(asked),
    arguments: [],
  }),
}

function serversOf(delivery: Delivery): Settings {
  const way =
    delivery.by === 'shim'
      ? { command: delivery.command, args: delivery.args }
      : { httpUrl: delivery.endpoint, ...bearer(`$${delivery.tokenVariable}`) }
  // Without trust a run without a person has no tools.
  const entry = { ...way, trust: true, timeout: patienceSeconds * 1_000 }
  return { mcpServers: { [serverName]: entry } }
}

function settings({ delivery, strict }: SetUpRequest): Settings {
  return {
    security: { auth: { selectedType: 'gemini-api-key' } },
    general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    privacy: { usageStatisticsEnabled: false },
    // A `.env` of the workspace could name other settings, another model, or what Node loads first.
    ...(strict ? { advanced: { ignoreLocalEnv: true }, mcp: { allowed: [serverName] } } : {}),
    ...serversOf(delivery),
  }
}

function environment({ model }: SetUpRequest) {
  const key = standInKey(model)
  return {
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    ...(model ? { GOOGLE_GEMINI_BASE_URL: model.baseUrl } : {}),
    ...(key === undefined ? {} : { GEMINI_API_KEY: key }),
  }
}
