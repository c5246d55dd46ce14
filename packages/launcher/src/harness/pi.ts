/** Pi. What a folder brings is loaded only where it is trusted, which only the settings of the home can say. */
import { type ModelAccess, standInKey } from '../model-relay/model-access.ts'
import type { AgentProgram } from './agent-program.ts'
import { bearer, type Delivery, patienceSeconds, type Settings, serverName } from './mcp-entry.ts'

export const pi: AgentProgram = {
  name: 'pi',
  provider: 'anthropic',
  package: '@earendil-works/pi-coding-agent',
  program: 'pi',
  minimum: '1.6.0',
  covered: [],
  workspaceServers: ['.pi/mcp.json'],
  entry: (delivery) => ({
    file: '~/.pi/agent/mcp.json',
    format: 'json',
    settings: serversOf(delivery),
  }),
  setUp: ({ delivery, strict, model }) => ({
    files: [
      { file: '~/.pi/agent/mcp.json', format: 'json', settings: serversOf(delivery) },
      {
        file: '~/.pi/agent/settings.json',
        format: 'json',
        settings: {
          defaultProjectTrust: strict ? 'never' : 'always',
          enableInstallTelemetry: false,
        },
      },
      ...(model
        ? [{ file: '~/.pi/agent/models.json', format: 'json', settings: models(model) } as const]
        : []),
    ],
    environment: { PI_OFFLINE: '1' },
    arguments: [],
  }),
}

/** `direct`: else the model would write programs that call the tools. */
function serversOf(delivery: Delivery): Settings {
  const way =
    delivery.by === 'shim'
      ? { command: delivery.command, args: delivery.args }
      : { url: delivery.endpoint, ...bearer(`\${${delivery.tokenVariable}}`) }
  return { mcpServers: { [serverName]: { ...way, exposure: 'direct', timeout: patienceSeconds } } }
}

/** Its own names for the providers, and its own idea of which address has a version. */
function models(model: ModelAccess): Settings {
  const { provider, baseUrl } = model
  const apiKey = standInKey(model)
  const version = { anthropic: '', openai: '', google: '/v1beta' }[provider]
  return {
    providers: {
      [provider]: {
        baseUrl: `${baseUrl}${version}`,
        ...(apiKey === undefined ? {} : { apiKey }),
      },
    },
  }
}
