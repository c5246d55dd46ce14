/** The agent programs that speak ACP: each is one of those we know, told otherwise how to start. Their server comes by ACP. */
import type { AgentName, AgentProgram, SetUp, SetUpRequest } from '../harness/agent-program.ts'
import { agentPrograms } from '../harness/agent-programs.ts'
import type { Settings } from '../harness/mcp-entry.ts'
import type { AcpStart } from './conversation.ts'

export const acpAgentNames = ['claude', 'codex', 'gemini', 'opencode'] as const
export type AcpAgentName = (typeof acpAgentNames)[number]

export interface AcpProgram {
  /** By another package than the program itself, where it does not speak ACP. */
  readonly by?: Pick<AgentProgram, 'package' | 'program' | 'minimum'> &
    Partial<Pick<AgentProgram, 'covered'>>
  readonly authMethod?: string
  readonly mode?: string
  readonly meta?: (strict: boolean) => Settings
  /** Of what the program is set up with when it is started by itself. */
  setUp(alone: SetUp, modelName: string | undefined): SetUp
}

const acpPrograms: Readonly<Record<AcpAgentName, AcpProgram>> = {
  claude: {
    by: {
      package: '@agentclientprotocol/claude-agent-acp',
      program: 'claude-agent-acp',
      minimum: '0.101.0',
    },
    // Its own choice asks a model to judge each call.
    mode: 'default',
    meta: (strict) => ({
      claudeCode: {
        options: {
          settingSources: strict ? ['user'] : ['user', 'project', 'local'],
          strictMcpConfig: strict,
        },
      },
    }),
    setUp: ({ files, environment }, modelName) => ({
      files: files.filter(({ file }) => file === '~/.claude.json'),
      environment: { ...environment, ...(modelName ? { ANTHROPIC_MODEL: modelName } : {}) },
      arguments: [],
    }),
  },
  codex: {
    by: {
      package: '@agentclientprotocol/codex-acp',
      program: 'codex-acp',
      minimum: '2.6.0',
      // It trusts the folder that it is started in, whatever the settings say (seen with 2.6.0).
      covered: ['.codex'],
    },
    mode: 'read-only',
    setUp: changed('mcp_servers', (model) => ({ model })),
  },
  gemini: {
    authMethod: 'gemini-api-key',
    setUp: changed('mcpServers', (name) => ({ model: { name } }), ['--acp']),
  },
  opencode: {
    setUp: changed('mcp', (model) => ({ model }), ['acp']),
  },
}

/** Its settings without the table of servers, with the model's name; and the words that make it speak ACP. */
function changed(
  servers: string,
  named: (model: string) => Settings,
  words: readonly string[] = [],
): AcpProgram['setUp'] {
  return ({ files, environment }, modelName) => ({
    files: files.map(({ settings, ...file }) => {
      const { [servers]: _, ...others } = settings
      return { ...file, settings: { ...others, ...(modelName ? named(modelName) : {}) } }
    }),
    environment,
    arguments: words,
  })
}

export interface AcpAgentSetUp {
  readonly program: Omit<AgentProgram, 'name'> & { readonly name: string }
  readonly start: Pick<AcpStart, 'authMethod' | 'mode' | 'meta'>
}

export function acpAgent(
  name: AcpAgentName & AgentName,
  asked: { readonly modelName?: string; readonly strict: boolean },
): AcpAgentSetUp {
  const { by, authMethod, mode, meta, setUp } = acpPrograms[name]
  const alone = agentPrograms[name]
  return {
    program: {
      ...alone,
      ...by,
      name: `acp:${name}`,
      setUp: (request: SetUpRequest) => setUp(alone.setUp(request), asked.modelName),
    },
    start: {
      ...(authMethod === undefined ? {} : { authMethod }),
      ...(mode === undefined ? {} : { mode }),
      ...(meta ? { meta: meta(asked.strict) } : {}),
    },
  }
}
