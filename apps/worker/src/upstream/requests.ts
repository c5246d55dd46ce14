/** What is written to an upstream: headers and bodies of both protocol eras. Nothing of the guest's passes but arguments. */
import { encodeHeaderValue, meta, release } from '@sallyport/protocol'
import type { Intent } from '@sallyport/protocol/node'
import type { HttpRequest } from '../http/exchange.ts'
import type { Target } from '../vault/vault.ts'
import type { Contact } from './contact.ts'

export const clientInfo = { name: 'sallyport', version: release }

let lastId = 0
/** Of this process: an answer that strayed from another request is never taken for one's own. */
export function nextId(): number {
  return ++lastId
}

/** Beside the header of draft-ietf-httpapi-idempotency-key-header: a server behind a framework may see only the body. */
const idempotencyMeta = 'dev.sallyport/idempotency-key'

const either = 'application/json, text/event-stream'

/** Ours first; `accept-encoding` asks for nothing, because what is unpacked has no limit. */
export function plainHeaders(target: Target, accept = either): string[] {
  const names = target.headers.filter((_, index) => index % 2 === 0)
  const agent = names.some((name) => name.toLowerCase() === 'user-agent')
    ? []
    : ['user-agent', `${clientInfo.name}/${clientInfo.version}`]
  return ['accept', accept, 'accept-encoding', 'identity', ...agent, ...target.headers]
}

/** Of the session or the era that was agreed on. */
export function contactHeaders(contact: Contact, method?: string, name?: string): string[] {
  const headers = ['mcp-protocol-version', contact.protocolVersion]
  if (contact.sessionId !== undefined) headers.push('mcp-session-id', contact.sessionId)
  if (contact.era === 'legacy') return headers
  if (method !== undefined) headers.push('mcp-method', method)
  if (name !== undefined) headers.push('mcp-name', encodeHeaderValue(name))
  return headers
}

const wordsOf = new Map<string, string>()

/** Our own words about ourselves, as every request of 2026-07-28 must hold them; without the last brace. */
function ownWords(version: string): string {
  let words = wordsOf.get(version)
  if (words === undefined) {
    words = JSON.stringify({
      [meta.protocolVersion]: version,
      [meta.clientInfo]: clientInfo,
      [meta.clientCapabilities]: {},
    }).slice(0, -1)
    wordsOf.set(version, words)
  }
  return words
}

/** The `_meta` of a request, with further members as JSON text, or undefined when it has none. */
function metaOf(contact: Contact, members: readonly string[] = []): string | undefined {
  const further = members.join(',')
  if (contact.era === 'legacy') return further === '' ? undefined : `{${further}}`
  return `${ownWords(contact.protocolVersion)}${further === '' ? '' : `,${further}`}}`
}

/** A request without arguments of a guest. */
export function composeRequest(
  target: Target,
  contact: Contact,
  request: { readonly id: number; readonly method: string; readonly params: object },
): HttpRequest {
  const words = metaOf(contact)
  const params = { ...request.params, ...(words ? { _meta: JSON.parse(words) } : {}) }
  return post(target, contactHeaders(contact, request.method), {
    jsonrpc: '2.0',
    id: request.id,
    method: request.method,
    params,
  })
}

/** What answers a request of a legacy server. */
export function composeReply(target: Target, contact: Contact, reply: object): HttpRequest {
  return post(target, contactHeaders(contact), { jsonrpc: '2.0', ...reply })
}

function post(target: Target, headers: readonly string[], body: object): HttpRequest {
  return {
    method: 'POST',
    path: target.endpoint.path,
    headers: [...plainHeaders(target), 'content-type', 'application/json', ...headers],
    body: Buffer.from(JSON.stringify(body)),
  }
}

export interface CallParts {
  readonly id: number
  readonly intent: Intent
  readonly tool: string
  /** Canonical JSON, written as it is. */
  readonly argumentsRaw: Buffer
}

export function composeCall(target: Target, contact: Contact, parts: CallParts): HttpRequest {
  const { id, intent, tool, argumentsRaw } = parts
  const key = idempotencyKey(intent)
  const words = metaOf(contact, [
    ...(intent.progress ? [`"progressToken":${id}`] : []),
    ...(key === undefined ? [] : [`"${idempotencyMeta}":"${key}"`]),
  ])
  const head = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${JSON.stringify(tool)},"arguments":`
  const tail = words === undefined ? '}}' : `,"_meta":${words}}}`
  return {
    method: 'POST',
    path: target.endpoint.path,
    headers: [
      ...plainHeaders(target),
      'content-type',
      'application/json',
      ...contactHeaders(contact, 'tools/call', tool),
      // A string of RFC 9651, so in quotes; an id holds nothing that would have to be escaped.
      ...(key === undefined ? [] : ['idempotency-key', `"${key}"`]),
      ...(contact.era === 'modern' ? paramHeaders(intent, argumentsRaw) : []),
    ],
    body: Buffer.concat([Buffer.from(head), argumentsRaw, Buffer.from(tail)]),
  }
}

/** What a server may know a repetition by; a read needs none, and one would only fill its memory. */
function idempotencyKey({ access, executionId }: Intent): string | undefined {
  return access === 'write' ? executionId : undefined
}

/** Arguments that the reviewed schema mirrors in headers. Absent and null ones have none. */
function paramHeaders({ paramHeaders: mirrored }: Intent, argumentsRaw: Buffer): string[] {
  if (!mirrored || mirrored.length === 0) return []
  const sent: unknown = JSON.parse(argumentsRaw.toString())
  return mirrored.flatMap(({ header, path }) => {
    const value = path.reduce<unknown>(ownMember, sent)
    const isPlain = ['string', 'number', 'boolean'].includes(typeof value)
    return isPlain ? [`mcp-param-${header}`, encodeHeaderValue(String(value))] : []
  })
}

function ownMember(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}
