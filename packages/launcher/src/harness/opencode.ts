/**
 * OpenCode. One variable keeps it from the settings and tools of the folder it works in. The plugins there it starts all the
 * same (seen with 1.18.33), so their folder is covered.
 */

import { type ModelAccess, standInKey } from '../model-relay/model-access.ts'
import type { AgentProgram, SetUpRequest } from './agent-program.ts'
import { bearer, type Delivery, patienceSeconds, type Settings, serverName } from './mcp-entry.ts'

export const opencode: AgentProgram = {
  name: 'opencode',
  provider: 'anthropic',
  package: 'opencode-ai',
  program: 'opencode',
  minimum: '1.18.33',
  covered: ['.opencode'],
  // Its installer puts it into ~/.opencode/bin; the others it makes where it runs. None of them starts anything (seen with 1.18.33).
  harmless: ['bin', '.gitignore', 'node_modules', 'package.json', 'package-lock.json', 'bun.lock'],
  looksAbove: true,
  workspaceServers: ['opencode.json', 'opencode.jsonc', '.opencode/opencode.json'],
  entry: (delivery) => ({ file: 'opencode.json', format: 'json', settings: serversOf(delivery) }),
  setUp: (asked) => ({
    files: [
      { file: '~/.config/opencode/opencode.json', format: 'json', settings: settings(asked) },
    ],
    environment: {
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      // It asks the registry for a package of its own; before it starts a plugin it waits for that, or a minute where there is none.
      npm_config_fetch_retry_mintimeout: '100',
      npm_config_fetch_retry_maxtimeout: '1000',
      ...(asked.strict ? { OPENCODE_DISABLE_PROJECT_CONFIG: '1' } : {}),
    },
    arguments: [],
  }),
}

function serversOf(delivery: Delivery): Settings {
  const way =
    delivery.by === 'shim'
      ? { type: 'local', command: [delivery.command, ...delivery.args] }
      : {
          type: 'remote',
          url: delivery.endpoint,
          oauth: false,
          ...bearer(`{env:${delivery.tokenVariable}}`),
        }
  return { mcp: { [serverName]: { ...way, enabled: true, timeout: patienceSeconds * 1_000 } } }
}

function settings({ delivery, model }: SetUpRequest): Settings {
  return {
    autoupdate: false,
    share: 'disabled',
    ...(model ? { provider: providerOf(model) } : {}),
    ...serversOf(delivery),
  }
}

/** Its own names for the providers; it wants the version of the API in the address. */
function providerOf(model: ModelAccess): Settings {
  const { provider, baseUrl } = model
  const apiKey = standInKey(model)
  const version = { anthropic: '/v1', openai: '', google: '/v1beta' }[provider]
  const options = { baseURL: `${baseUrl}${version}`, ...(apiKey === undefined ? {} : { apiKey }) }
  return { [provider]: { options } }
}
