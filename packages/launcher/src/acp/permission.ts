/**
 * What an agent program is told that asks whether it may. It is no wall: what it can do at all is decided by the sandbox and by
 * Sallyport, whatever it says here of its tools.
 */
import { serverName } from '../harness/mcp-entry.ts'
import { isObject, type Params } from './json-lines.ts'

export const acpPermissions = ['allow-session-tools', 'ask', 'deny'] as const
export type AcpPermissions = (typeof acpPermissions)[number]

export interface AskedPermission {
  /** Of our server, as the session names it; undefined for every other tool. */
  readonly sessionTool: string | undefined
  /** The tool is one of an MCP server, ours or another. */
  readonly isOfServer: boolean
  /** What the tool does, in ACP's words. */
  readonly kind: string
  /** The agent's own words. */
  readonly title: string
}

/** In the sandbox these reach nothing but the sandbox. */
const kindsInside = new Set(['read', 'edit', 'delete', 'move', 'search', 'execute', 'think'])

export function judgePermission(
  { sessionTool, isOfServer, kind }: AskedPermission,
  policy: AcpPermissions,
  /** Names, as at `/mcp`. */
  sessionTools: readonly string[],
): 'allow' | 'ask' | 'reject' {
  if (policy === 'deny') return 'reject'
  if (policy === 'ask') return 'ask'
  if (sessionTool !== undefined && sessionTools.includes(sessionTool)) return 'allow'
  return kindsInside.has(kind) && !isOfServer ? 'allow' : 'ask'
}

/** `toolCall`: all that the agent has said of it, the request for permission last. */
export function readPermission(toolCall: Params): AskedPermission {
  const { rawInput, kind } = toolCall
  const title = typeof toolCall['title'] === 'string' ? toolCall['title'] : ''
  // Codex tells it apart, the others in words of their own.
  const given = isObject(rawInput) ? `mcp.${rawInput['server']}.${rawInput['tool']}` : ''
  const names = [toolCall['name'], title, given].filter((name) => typeof name === 'string')
  const found = names.map(serverTool).find((tool) => tool !== undefined)
  return {
    sessionTool: found?.server === serverName ? found.tool : undefined,
    isOfServer: found !== undefined,
    kind: typeof kind === 'string' ? kind : 'other',
    title,
  }
}

/** As Claude Code, Codex and Gemini CLI spell the tool of a server; OpenCode's spelling fits ours alone. */
const spellings = [
  /^mcp__(?<server>.+?)__(?<tool>.+)$/,
  /^mcp\.(?<server>(?!undefined\.)[^.]+)\.(?<tool>.+)$/,
  /^(?<tool>.+) \((?<server>.+) MCP Server\)$/,
  new RegExp(`^(?<server>${serverName})_(?<tool>.+)$`),
]

function serverTool(name: string): { readonly server: string; readonly tool: string } | undefined {
  for (const spelling of spellings) {
    const { server, tool } = spelling.exec(name)?.groups ?? {}
    if (server !== undefined && tool !== undefined) return { server, tool }
  }
  return undefined
}

/** The answer for ACP: the narrowest of the agent's own options that says it; `cancelled` when there is none. */
export function permissionAnswer(options: unknown, isAllowed: boolean): Params {
  const kinds = isAllowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always']
  const given = Array.isArray(options) ? options.filter(isObject) : []
  const [option] = kinds.flatMap((kind) => given.filter((one) => one['kind'] === kind))
  const optionId = option?.['optionId']
  if (typeof optionId !== 'string') return { outcome: { outcome: 'cancelled' } }
  return { outcome: { outcome: 'selected', optionId } }
}
