/** `x-mcp-header` of MCP 2026-07-28: arguments that travel as `Mcp-Param-…` headers too. */
import { isSchemaObject } from './dialect.ts'
import { toPointer } from './pointer.ts'
import { allSchemas, type Place } from './walk.ts'

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
const carried: readonly unknown[] = ['string', 'integer', 'boolean']

/**
 * The annotation is valid on strings, integers and booleans that are reached through `properties` alone, each name once
 * without case. A tool that breaks this cannot be called over HTTP, so it cannot be included. For schemas that
 * `compileRoot` takes.
 */
export function paramHeaders(inputSchema: unknown): ParamHeaders {
  if (!isSchemaObject(inputSchema)) return { ok: true, headers: [] }
  const headers: ParamHeader[] = []
  const seen = new Set<string>()
  for (const place of allSchemas(inputSchema)) {
    const header = place.schema[keyword]
    if (header === undefined) continue
    const path = pathOf(place)
    const reason =
      refusal(place, path, header) ?? (isRepeated(header, seen) ? 'is given twice' : undefined)
    if (reason || !path)
      return { ok: false, reason: `${keyword} at ${toPointer(place.steps)} ${reason}` }
    headers.push({ header: String(header), path })
  }
  return { ok: true, headers }
}

/** The argument that a schema is for; undefined when `properties` alone do not lead to it. */
function pathOf({ steps }: Place): string[] | undefined {
  const names = steps.filter((_, i) => i % 2 === 1)
  const isReached =
    steps.length > 0 && steps.every((step, i) => i % 2 === 1 || step === 'properties')
  return isReached && steps.length % 2 === 0 ? names : undefined
}

function refusal({ schema }: Place, path: unknown, header: unknown): string | undefined {
  if (!path) return 'is at a place that arguments do not reach'
  if (typeof header !== 'string' || !token.test(header)) return 'is no header name'
  if (!carried.includes(schema.type)) return 'is on something that is no string, integer or boolean'
  return undefined
}

function isRepeated(header: unknown, seen: Set<string>): boolean {
  const lower = String(header).toLowerCase()
  const isKnown = seen.has(lower)
  seen.add(lower)
  return isKnown
}
