/** What is to be known of one agent program to start it with the tools of a session and nothing else. */
import type { Environment } from '../guest/environment.ts'
import type { ModelAccess } from '../model-relay/model-access.ts'
import type { ModelProviderName } from '../model-relay/model-provider.ts'
import type { Delivery, SettingsFile } from './mcp-entry.ts'

export const agentNames = ['claude', 'codex', 'opencode', 'gemini', 'pi'] as const
export type AgentName = (typeof agentNames)[number]

export interface AgentProgram {
  readonly name: AgentName
  readonly provider: ModelProviderName
  /** Of npm. */
  readonly package: string
  /** In PATH. */
  readonly program: string
  /** The oldest that was seen to do what is asked of it here. */
  readonly minimum: string
  /** Folders of the workspace that it reads settings from and cannot be told not to: in strict mode they are covered. */
  readonly covered: readonly string[]
  /** Names in those folders that are no settings: what its installer puts there, and what it makes itself. */
  readonly harmless?: readonly string[]
  /** It looks for those in the folders above the workspace too. */
  readonly looksAbove?: true
  /** Files of the workspace in which it looks for servers, when it may. */
  readonly workspaceServers: readonly string[]
  /** The server alone, for whoever writes it into settings of their own. */
  entry(delivery: Delivery): SettingsFile
  /** All it is given, in a home of its own. */
  setUp(asked: SetUpRequest): SetUp
}

export interface SetUpRequest {
  readonly delivery: Delivery
  /** Nothing of the workspace may add a server, a hook or a setting. */
  readonly strict: boolean
  /** A sandbox of its own can be made where it runs. */
  readonly canNest: boolean
  readonly model: ModelAccess | undefined
  /** Where it will be, in the guest. */
  readonly home: string
  readonly workspace: string
}

export interface SetUp {
  /** `file` begins with `~/`. */
  readonly files: readonly SettingsFile[]
  readonly environment: Environment
  /** Before those that the user gives. */
  readonly arguments: readonly string[]
}
