/** The MCP entry of each agent program as it is to be pasted, by address or by shim; `run` writes the same ones. */
import {
  type AgentName,
  agentNames,
  agentPrograms,
  type Delivery,
  settingsText,
} from '@sallyport/launcher'

export const harnessNames = [...agentNames, 'generic'] as const
export type HarnessName = AgentName | 'generic'

/** Environment variable that holds the token of the session. */
export const tokenVariable = 'SALLYPORT_SESSION_TOKEN'

export interface HarnessConfig {
  /** Where the program looks for it. */
  readonly file: string
  readonly format: 'json' | 'toml'
  readonly text: string
}

/** By the session's endpoint, with the token by reference to the environment. */
export function harnessConfig(name: HarnessName, endpoint: string): Promise<HarnessConfig> {
  return configOf(name, { by: 'http', endpoint, tokenVariable })
}

export interface ShimPlace {
  /** Where the shim lies inside the sandbox. */
  readonly shim: string
  /** How it reaches the gateway, as it is told: nothing of it is secret. */
  readonly way: readonly [option: string, value: string, ...rest: string[]]
}

/** By a shim, which has no address and no token, so the entry may be anywhere. */
export function shimConfig(name: HarnessName, { shim, way }: ShimPlace): Promise<HarnessConfig> {
  return configOf(name, { by: 'shim', command: 'node', args: [shim, ...way] })
}

async function configOf(name: HarnessName, delivery: Delivery): Promise<HarnessConfig> {
  // What most programs take is what Claude Code takes.
  const entry = agentPrograms[name === 'generic' ? 'claude' : name].entry(delivery)
  const file = name === 'generic' ? 'the MCP settings of the program' : entry.file
  return { file, format: entry.format, text: await settingsText(entry) }
}
