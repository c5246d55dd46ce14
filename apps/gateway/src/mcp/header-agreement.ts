/** What the 2026-07-28 headers say must be what the body says, so that nobody on the way was told another story. */
import type { BoundTool } from '@sallyport/core'
import { decodeHeaderValue, meta } from '@sallyport/protocol'
import { type Message, stringOf } from './envelope.ts'
import { type Headers, type Mismatch, mismatch, missing, single } from './era.ts'

/** Of a request whose version is settled: the required members of `_meta`, then the headers every request has. */
export function checkModern(headers: Headers, message: Message): Mismatch | undefined {
  if (message.meta.get(meta.clientCapabilities)?.charCodeAt(0) !== 123)
    return missing(meta.clientCapabilities)
  if (headers['mcp-method'] !== message.method)
    return mismatch('The Mcp-Method header is missing or is not the method of the body.')
  if (message.method !== 'tools/call') return undefined
  const name = stringOf(message.params.get('name'))
  if (name !== undefined && decoded(headers['mcp-name']) !== name)
    return mismatch('The Mcp-Name header is missing or is not the name in the body.')
  return undefined
}

/** The `Mcp-Param-*` headers of the tool's reviewed schema. */
export function checkParams(
  headers: Headers,
  tool: BoundTool,
  argumentsText: string,
): Mismatch | undefined {
  if (tool.paramHeaders.length === 0) return undefined
  const root: unknown = JSON.parse(argumentsText)
  for (const { header, path } of tool.paramHeaders) {
    const name = `mcp-param-${header.toLowerCase()}`
    if (!agrees(headers[name], valueAt(root, path)))
      return mismatch(`The ${name} header is missing or is not the value in the arguments.`)
  }
  return undefined
}

function valueAt(root: unknown, path: readonly string[]): unknown {
  let value = root
  for (const key of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined
    value = (value as Record<string, unknown>)[key]
  }
  return value
}

function agrees(header: string | string[] | undefined, value: unknown): boolean {
  switch (typeof value) {
    case 'string':
      return decoded(header) === value
    case 'boolean':
      return decoded(header) === String(value)
    case 'number':
      return isNumber(decoded(header)) && Number(decoded(header)) === value
    default:
      // Absent or null: no header. An array or object has no header form either; its schema refuses it.
      return header === undefined
  }
}

function isNumber(text: string | undefined): text is string {
  return text !== undefined && /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)
}

/** The text behind a header; undefined when it is missing, not plain ASCII, or marked as base64 without being it. */
function decoded(header: string | string[] | undefined): string | undefined {
  const value = single(header)
  if (value === undefined || !/^[\t\x20-\x7e]*$/.test(value)) return undefined
  return decodeHeaderValue(value)
}
