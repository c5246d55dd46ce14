/** `x-mcp-header` of MCP 2026-07-28: arguments that travel as `Mcp-Param-…` headers too. */
import { isSchemaObject } from './dialect.ts'
import { toPointer } from './pointer.ts'

export interface ParamHeader {
  /** What stands after `Mcp-Param-`. */
  readonly header: string
  /** Member names from the arguments inwards. */
  readonly path: readonly string[]
}

export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly reason: string }

const keyword = 'x-mcp-header'
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}$/
const carried = new Set(['string', 'integer', 'boolean'])

/**
 * The annotation is valid on strings, integers and booleans that are reached through `properties` alone, each name once
 * without case. A tool that breaks this cannot be called over HTTP, so it cannot be included.
 */
export function paramHeaders(inputSchema: unknown): ParamHeaders {
  const headers: ParamHeader[] = []
  const problem = collect(inputSchema, [], headers) ?? stray(inputSchema, true) ?? repeated(headers)
  return problem === undefined ? { ok: true, headers } : { ok: false, reason: problem }
}

function collect(
  schema: unknown,
  path: readonly string[],
  headers: ParamHeader[],
): string | undefined {
  if (!isSchemaObject(schema) || !isSchemaObject(schema['properties'])) return undefined
  for (const [name, property] of Object.entries(schema['properties'])) {
    const inner = [...path, name]
    if (isSchemaObject(property) && property[keyword] !== undefined) {
      const header = property[keyword]
      const where = toPointer(inner)
      if (typeof header !== 'string' || !token.test(header))
        return `${keyword} at ${where} is no header name`
      if (typeof property['type'] !== 'string' || !carried.has(property['type']))
        return `${keyword} at ${where} is on something that is no string, integer or boolean`
      headers.push({ header, path: inner })
    }
    const problem = collect(property, inner, headers)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Annotations at places that `properties` alone do not lead to. */
function stray(value: unknown, isReached: boolean): string | undefined {
  if (Array.isArray(value)) {
    for (const item of value) {
      const problem = stray(item, false)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  if (!isSchemaObject(value)) return undefined
  if (!isReached && value[keyword] !== undefined)
    return `${keyword} is at a place that arguments do not reach`
  for (const [key, inner] of Object.entries(value)) {
    if (literals.has(key)) continue
    const isProperties = key === 'properties' && isReached && isSchemaObject(inner)
    const problem = isProperties
      ? Object.values(inner)
          .map((property) => stray(property, true))
          .find((found) => found !== undefined)
      : stray(inner, false)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** Keywords whose values are no schemas. */
const literals = new Set(['const', 'enum', 'default', 'examples'])

function repeated(headers: readonly ParamHeader[]): string | undefined {
  const seen = new Set<string>()
  for (const { header } of headers) {
    const lower = header.toLowerCase()
    if (seen.has(lower)) return `${keyword} names the header ${lower} twice`
    seen.add(lower)
  }
  return undefined
}
