/** What a 2026-07-28 server must check: the headers say the same as the body. */
import type { IncomingHttpHeaders } from 'node:http'
import type { ScriptedTool } from './scripted-tools.ts'

export interface Params {
  readonly name?: unknown
  readonly arguments?: Readonly<Record<string, unknown>>
  readonly _meta?: Readonly<Record<string, unknown>>
  readonly cursor?: unknown
  readonly notifications?: { readonly toolsListChanged?: unknown }
  readonly protocolVersion?: unknown
}

interface Marked {
  readonly properties?: Readonly<Record<string, Marked>>
  readonly 'x-mcp-header'?: unknown
}

export function headerProblem(
  headers: IncomingHttpHeaders,
  method: string,
  params: Params | undefined,
  tool: ScriptedTool | undefined,
): string | undefined {
  const version = params?._meta?.['io.modelcontextprotocol/protocolVersion']
  if (headers['mcp-protocol-version'] !== version) return 'MCP-Protocol-Version'
  if (headers['mcp-method'] !== method) return 'Mcp-Method'
  if (method !== 'tools/call') return undefined
  if (decode(headers['mcp-name']) !== params?.name) return 'Mcp-Name'
  for (const { header, path } of markedArguments(tool?.inputSchema ?? {}, [])) {
    const value = path.reduce<unknown>(member, params?.arguments)
    const expected = value === undefined || value === null ? undefined : String(value)
    if (decode(headers[`mcp-param-${header.toLowerCase()}`]) !== expected) return header
  }
  return undefined
}

const member = (value: unknown, step: string): unknown =>
  (value as Record<string, unknown> | undefined)?.[step]

function* markedArguments(
  schema: Marked,
  path: string[],
): Generator<{ header: string; path: string[] }> {
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const here = [...path, name]
    const header = property['x-mcp-header']
    if (typeof header === 'string') yield { header, path: here }
    yield* markedArguments(property, here)
  }
}

function decode(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined
  const coded = /^=\?base64\?(.*)\?=$/.exec(header)
  return coded ? Buffer.from(coded[1] as string, 'base64').toString() : header
}
