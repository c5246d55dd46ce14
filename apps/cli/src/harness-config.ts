/**
 * The MCP entry of each agent program: one server, the session's endpoint, and the token by reference to the
 * environment. Sallyport decides about each call, so the programs are told not to ask a second time where a run
 * without a person would otherwise have no tools.
 */
export const harnessNames = ['claude', 'codex', 'opencode', 'gemini', 'pi', 'generic'] as const
export type HarnessName = (typeof harnessNames)[number]

/** Environment variable that holds the token of the session. */
export const tokenVariable = 'SALLYPORT_SESSION_TOKEN'

export interface HarnessConfig {
  /** Where the program looks for it. */
  readonly file: string
  readonly format: 'json' | 'toml'
  readonly text: string
}

const server = 'sallyport'
/** Calls wait for a person; programs that count give up no sooner. */
const patienceSeconds = 600

export async function harnessConfig(name: HarnessName, endpoint: string): Promise<HarnessConfig> {
  switch (name) {
    case 'claude':
      return json('.mcp.json', {
        mcpServers: {
          [server]: { type: 'http', url: endpoint, ...bearer(`\${${tokenVariable}}`) },
        },
      })
    case 'codex':
      return toml('$CODEX_HOME/config.toml', {
        // Else it writes its whole environment, the session's token included, into files below CODEX_HOME.
        features: { shell_snapshot: false },
        mcp_servers: {
          [server]: {
            url: endpoint,
            bearer_token_env_var: tokenVariable,
            default_tools_approval_mode: 'approve',
            required: true,
            startup_timeout_sec: 20,
            tool_timeout_sec: patienceSeconds,
          },
        },
      })
    case 'opencode':
      return json('opencode.json', {
        mcp: {
          [server]: {
            type: 'remote',
            url: endpoint,
            enabled: true,
            oauth: false,
            timeout: patienceSeconds * 1000,
            ...bearer(`{env:${tokenVariable}}`),
          },
        },
      })
    case 'gemini':
      return json('~/.gemini/settings.json', {
        mcpServers: {
          [server]: {
            httpUrl: endpoint,
            timeout: patienceSeconds * 1000,
            trust: true,
            ...bearer(`$${tokenVariable}`),
          },
        },
      })
    case 'pi':
      return json('~/.pi/agent/mcp.json', {
        mcpServers: {
          [server]: { url: endpoint, exposure: 'direct', ...bearer(`\${${tokenVariable}}`) },
        },
      })
    case 'generic':
      return json('the MCP settings of the program', {
        mcpServers: {
          [server]: { type: 'http', url: endpoint, ...bearer(`\${${tokenVariable}}`) },
        },
      })
  }
}

function bearer(reference: string): { readonly headers: { readonly Authorization: string } } {
  return { headers: { Authorization: `Bearer ${reference}` } }
}

function json(file: string, value: unknown): HarnessConfig {
  return { file, format: 'json', text: `${JSON.stringify(value, null, 2)}\n` }
}

async function toml(file: string, value: Record<string, unknown>): Promise<HarnessConfig> {
  const { stringify } = await import('smol-toml')
  return { file, format: 'toml', text: `${stringify(value)}\n` }
}
