/** What the shim has to know of a message that the harness wrote. It decides nothing about it: the gateway does. */
import {
  encodeHeaderValue,
  type FewHeaders,
  modernVersion,
  protocolVersionKey,
} from '@sallyport/protocol/shim'

type Members = Readonly<Record<string, unknown>>

export interface Incoming {
  readonly text: string
  /** JSON text; undefined where none can be told. */
  readonly id: string | undefined
  readonly method: unknown
  readonly params: Members
  /** The version it carries itself, as 2026-07-28 wants. */
  readonly claims: unknown
  readonly isModern: boolean
  readonly isNotification: boolean
}

export function readIncoming(text: string): Incoming {
  const { id, method, params: given } = membersOf(parsed(text))
  const params = membersOf(given)
  const claims = membersOf(params['_meta'])[protocolVersionKey]
  return {
    text,
    id: idText(text, id),
    method,
    params,
    claims,
    isModern: claims === modernVersion,
    isNotification: typeof method === 'string' && id === undefined,
  }
}

/** The headers that HTTP has beside a message, by the era the message is of. */
export function eraHeaders(message: Incoming, negotiated: unknown, schema: unknown): FewHeaders {
  const { claims, method, params, isModern } = message
  const headers: Record<string, string> = {}
  const set = (name: string, value: unknown): void => {
    if (isScalar(value)) headers[name] = encodeHeaderValue(String(value))
  }
  set('mcp-protocol-version', claims ?? (method === 'initialize' ? undefined : negotiated))
  if (!isModern) return headers
  set('mcp-method', method)
  set('mcp-name', method === 'resources/read' ? params['uri'] : params['name'])
  const visit = (node: unknown, value: unknown): void => {
    const { 'x-mcp-header': header, properties } = membersOf(node)
    if (typeof header === 'string' && /^[\w-]+$/.test(header)) set(`mcp-param-${header}`, value)
    for (const [key, inner] of Object.entries(membersOf(properties)))
      if (Object.hasOwn(membersOf(value), key)) visit(inner, membersOf(value)[key])
  }
  visit(schema, params['arguments'])
  return headers
}

// biome-ignore lint/suspicious/noExplicitAny: whatever it is, it is looked at
export function parsed(text: string | undefined): any {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

export function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {}
}

function isScalar(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value)
}

/** A number that JavaScript would round is looked up as it was written. */
function idText(text: string, id: unknown): string | undefined {
  if (typeof id === 'string' || Number.isSafeInteger(id)) return JSON.stringify(id)
  const written = [...text.matchAll(/"id"\s*:\s*(-?\d+)/g)].map(([, digits]) => digits)
  return written.find((digits) => Number(digits) === id)
}
