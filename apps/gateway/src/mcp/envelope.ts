/** From the bytes of a body to one well-formed JSON-RPC request or notification, or to what is wrong with it. */
import { isUtf8 } from 'node:buffer'
import { hasControl } from './has-control.ts'
import { type Members, scanMessage } from './scan-message.ts'

export interface Message {
  /** JSON text of the id exactly as it came; undefined for a notification. */
  readonly id: string | undefined
  readonly method: string
  /** JSON texts by key; empty when there were none. */
  readonly params: Members
  readonly meta: Members
}

export interface Malformed {
  readonly malformed: string
  readonly code: -32700 | -32600
  /** JSON text of the id where it can be told. */
  readonly id: string | undefined
}

const none: Members = new Map()

export function readMessage(body: Buffer): Message | Malformed {
  if (!isUtf8(body)) return notJson('The body is not UTF-8 text.')
  const scan = scanMessage(body.toString('utf8'), hasControl(body))
  switch (scan.kind) {
    case 'syntax':
      return notJson('The body is not JSON.')
    case 'batch':
      return invalid('Batches are not accepted. Send one message in each request.')
    case 'scalar':
      return invalid('The body is not a JSON-RPC message.')
    case 'object':
      break
  }
  if (scan.ambiguous === 'duplicate_key') return invalid('A key of the message occurs twice.')
  if (scan.ambiguous === 'depth') return invalid('The message is nested too deeply.')
  const { message, params, meta } = scan
  const id = message.get('id')
  if (id !== undefined && !isId(id)) return invalid('The id must be a string or an integer.')
  if (stringOf(message.get('jsonrpc')) !== '2.0') return invalid('"jsonrpc" must be "2.0".', id)
  const method = stringOf(message.get('method'))
  if (method === undefined) return invalid('"method" must be a string.', id)
  if (message.has('params') && params === undefined)
    return invalid('"params" must be an object.', id)
  return { id, method, params: params ?? none, meta: meta ?? none }
}

/** The string behind a JSON text, or undefined when it is anything else. */
export function stringOf(json: string | undefined): string | undefined {
  if (json?.charCodeAt(0) !== 34) return undefined
  return json.includes('\\') ? JSON.parse(json) : json.slice(1, -1)
}

/** MCP's request ids and progress tokens: a string or an integer, never null. */
export function isId(json: string): boolean {
  return json.charCodeAt(0) === 34 || /^-?\d+$/.test(json)
}

function notJson(malformed: string): Malformed {
  return { malformed, code: -32700, id: undefined }
}

function invalid(malformed: string, id?: string): Malformed {
  return { malformed, code: -32600, id }
}
