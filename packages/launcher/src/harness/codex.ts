/** Codex. Settings of a folder count only where it is trusted, so it is told that this one is not. */
import { standInKey } from '../model-relay/model-access.ts'
import { modelProviders } from '../model-relay/model-provider.ts'
import type { AgentProgram, SetUpRequest } from './agent-program.ts'
import {
  type Delivery,
  patienceSeconds,
  type Settings,
  serverName,
  startSeconds,
} from './mcp-entry.ts'

const provider = 'model'
const { openai } = modelProviders

export const codex: AgentProgram = {
  name: 'codex',
  provider: 'openai',
  package: '@openai/codex',
  program: 'codex',
  minimum: '0.171.0',
  covered: [],
  workspaceServers: ['.codex/config.toml'],
  entry: (delivery) => ({
    file: '$CODEX_HOME/config.toml',
    format: 'toml',
    settings: {
      // Else it writes its whole environment, the session's token included, into files below CODEX_HOME.
      ...(delivery.by === 'http' ? { features: { shell_snapshot: false } } : {}),
      ...serversOf(delivery),
    },
  }),
  setUp: (asked) => ({
    files: [{ file: '~/.codex/config.toml', format: 'toml', settings: settings(asked) }],
    environment: { CODEX_HOME: `${asked.home}/.codex` },
    arguments: [],
  }),
}

function serversOf(delivery: Delivery): Settings {
  const way =
    delivery.by === 'shim'
      ? { command: delivery.command, args: delivery.args }
      : { url: delivery.endpoint, bearer_token_env_var: delivery.tokenVariable }
  return {
    mcp_servers: {
      [serverName]: {
        ...way,
        // Sallyport decides; a run without a person could not ask.
        default_tools_approval_mode: 'approve',
        // Else the first request to the model has no tools yet.
        required: true,
        startup_timeout_sec: startSeconds,
        tool_timeout_sec: patienceSeconds,
      },
    },
  }
}

function settings({ delivery, strict, canNest, model, workspace }: SetUpRequest): Settings {
  return {
    model_provider: provider,
    // The sandbox that it is in is the one that counts; its own cannot be made in every one.
    sandbox_mode: canNest ? 'workspace-write' : 'danger-full-access',
    approval_policy: 'on-request',
    check_for_update_on_startup: false,
    analytics: { enabled: false },
    features: { shell_snapshot: false },
    model_providers: {
      [provider]: {
        name: 'OpenAI',
        base_url: model?.baseUrl ?? openai.url,
        wire_api: 'responses',
        ...(standInKey(model) === undefined ? { env_key: openai.variables[0] } : {}),
      },
    },
    ...serversOf(delivery),
    projects: { [workspace]: { trust_level: strict ? 'untrusted' : 'trusted' } },
  }
}
