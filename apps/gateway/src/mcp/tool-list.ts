/** `tools/list`: what may be called now, in the order of the toolset and our own last, each tool written once and kept. */
import type { BoundTool, Toolset } from '@sallyport/core'
import type { Era } from './era.ts'
import { waitToolText } from './wait-tool.ts'

const pageSize = 500
const keptCharacters = 16 * 1024 * 1024

export interface Page {
  /** JSON text of the array. */
  readonly tools: string
  /** Those of connections that are in it. */
  readonly shown: readonly BoundTool[]
  readonly nextCursor: string | undefined
}

/** A place in the order, so that it stays one when the list changes: connection and exposed name of the last tool told. */
type Place = readonly [connection: string, name: string]

export class ToolList {
  readonly #texts = new Map<string, string>()
  #characters = 0

  /** Undefined for a cursor that is not one of ours. */
  page(
    toolset: Toolset,
    callable: readonly BoundTool[],
    connection: string | null,
    era: Era,
    cursor: string | undefined,
  ): Page | undefined {
    const after = cursor === undefined ? undefined : placeOf(cursor)
    if (cursor !== undefined && after === undefined) return undefined
    const allowed = new Set(callable)
    const listed = toolset.tools.filter(
      (tool) =>
        allowed.has(tool) &&
        (connection === null || tool.binding.connectionName === connection) &&
        (after === undefined || isAfter(tool, after)),
    )
    const shown = listed.slice(0, pageSize)
    const last = shown.at(-1)
    const tools = shown.map((tool) => this.#text(tool, connection, era))
    const nextCursor = last && listed.length > pageSize ? cursorAt(last) : undefined
    const own = nextCursor === undefined ? waitToolText(toolset, connection) : undefined
    if (own !== undefined) tools.push(own)
    return { tools: `[${tools.join(',')}]`, shown, nextCursor }
  }

  /** Catalogs and grants never change, so what they show of a tool is written once for all sessions. */
  #text(tool: BoundTool, connection: string | null, era: Era): string {
    const { catalogId, grantId, connectionName, tool: name } = tool.binding
    const path = connection === null ? connectionName : ''
    const key = `${era} ${path} ${catalogId} ${grantId} ${name}`
    const kept = this.#texts.get(key)
    if (kept !== undefined) return kept
    const text = JSON.stringify(describe(tool, connection, era))
    this.#texts.set(key, text)
    this.#characters += text.length
    for (const [oldest, { length }] of this.#texts) {
      if (this.#characters <= keptCharacters) break
      this.#texts.delete(oldest)
      this.#characters -= length
    }
    return text
  }
}

function describe(tool: BoundTool, connection: string | null, era: Era): Record<string, unknown> {
  const { binding, title, description, inputSchema, outputSchema, annotations } = tool
  const { connectionName, exposedName } = binding
  const isShown = outputSchema !== null && (era === 'modern' || isObjectSchema(outputSchema))
  return {
    name: connection === null ? `${connectionName}__${exposedName}` : exposedName,
    ...(title === null ? {} : { title }),
    ...(description === null ? {} : { description }),
    inputSchema,
    ...(isShown ? { outputSchema } : {}),
    ...(annotations === null ? {} : { annotations }),
  }
}

/** Legacy clients refuse a whole list for one output schema of another type; only 2026-07-28 allows any. */
function isObjectSchema(schema: unknown): boolean {
  return (
    typeof schema === 'object' && schema !== null && 'type' in schema && schema.type === 'object'
  )
}

function isAfter(tool: BoundTool, [connection, name]: Place): boolean {
  const { connectionName, exposedName } = tool.binding
  return connectionName === connection ? exposedName > name : connectionName > connection
}

function cursorAt({ binding }: BoundTool): string {
  const place: Place = [binding.connectionName, binding.exposedName]
  return Buffer.from(JSON.stringify(place)).toString('base64url')
}

function placeOf(cursor: string): Place | undefined {
  if (cursor.length > 512 || !/^[A-Za-z0-9_-]+$/.test(cursor)) return undefined
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
    const isPlace =
      Array.isArray(place) && place.length === 2 && place.every((part) => typeof part === 'string')
    return isPlace ? (place as unknown as Place) : undefined
  } catch {
    return undefined
  }
}
