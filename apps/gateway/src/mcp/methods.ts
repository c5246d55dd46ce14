/** The methods of each era. What is not here is unknown: only tools are offered. */
import type { Session, Toolsets } from '@sallyport/core'
import { legacyVersions, modernVersion } from '@sallyport/protocol'
import { type CallDeps, callTool } from './call-tool.ts'
import { stringOf } from './envelope.ts'
import {
  answer,
  capabilities,
  type Exchange,
  invalidParams,
  ownResult,
  refuse,
  serverInfo,
} from './exchange.ts'
import { listen } from './listen.ts'
import type { McpSessionIds } from './mcp-session-id.ts'
import type { ShownTools } from './shown-tools.ts'
import type { ToolList } from './tool-list.ts'

export interface MethodDeps extends CallDeps {
  readonly toolsets: Toolsets
  readonly ids: McpSessionIds
  readonly list: ToolList
  readonly shown: ShownTools
  /** Asks the store whether the session is still open. */
  readonly isStillOpen: (session: Session) => Promise<boolean>
  readonly listening: (session: Session, open: () => void) => Promise<void>
}

const discoverTtlMs = 3_600_000
const listTtlMs = 60_000

/** May throw as well as reject. A call can be held for long, so nothing waits here in between. */
export function dispatch(exchange: Exchange, deps: MethodDeps): Promise<void> | void {
  const isModern = exchange.era === 'modern'
  switch (exchange.message.method) {
    case 'tools/call':
      return callTool(exchange, deps)
    case 'tools/list':
      return listTools(exchange, deps)
    case 'initialize':
      return isModern ? unknownMethod(exchange) : initialize(exchange, deps)
    case 'ping':
      return isModern ? unknownMethod(exchange) : answer(exchange, '{}')
    case 'server/discover':
      return isModern ? discover(exchange) : unknownMethod(exchange)
    case 'subscriptions/listen':
      return isModern ? openSubscription(exchange, deps) : unknownMethod(exchange)
    default:
      return unknownMethod(exchange)
  }
}

function initialize(exchange: Exchange, { ids }: MethodDeps): void {
  const asked = stringOf(exchange.message.params.get('protocolVersion'))
  if (asked === undefined) {
    invalidParams(exchange, 'params.protocolVersion must be a string.')
    return
  }
  const protocolVersion = legacyVersions.find((version) => version === asked) ?? legacyVersions[0]
  const result = { protocolVersion, capabilities, serverInfo: serverInfo(exchange.release) }
  const id = ids.issue(exchange.session.id)
  answer(exchange, JSON.stringify(result), { 'mcp-session-id': id })
}

function discover(exchange: Exchange): void {
  const cache = { ttlMs: discoverTtlMs, cacheScope: 'private' }
  answer(
    exchange,
    ownResult(exchange, { supportedVersions: [modernVersion], capabilities, ...cache }),
  )
}

async function listTools(exchange: Exchange, { toolsets, list, shown }: MethodDeps): Promise<void> {
  const { session, connection, era, message } = exchange
  const cursorText = message.params.get('cursor')
  const cursor = stringOf(cursorText)
  const toolset = await toolsets.of(session)
  const callable = await toolsets.callable(session, toolset)
  const page =
    cursorText !== undefined && cursor === undefined
      ? undefined
      : list.page(toolset, callable, connection, era, cursor)
  if (!page) return invalidParams(exchange, 'The cursor is not one of this list.')
  shown.note(session.id, page.shown)
  const cache = era === 'modern' ? { ttlMs: listTtlMs, cacheScope: 'private' } : {}
  const next = page.nextCursor === undefined ? {} : { nextCursor: page.nextCursor }
  const rest = ownResult(exchange, { ...next, ...cache })
  answer(exchange, `{"tools":${page.tools}${rest === '{}' ? '' : ','}${rest.slice(1)}`)
}

function openSubscription(exchange: Exchange, deps: MethodDeps): Promise<void> {
  const { session, res } = exchange
  return deps.listening(session, () => {
    if (!res.closed) listen(exchange, () => deps.isStillOpen(session))
  })
}

function unknownMethod(exchange: Exchange): void {
  const status = exchange.era === 'modern' ? 404 : 200
  refuse(exchange, { status, code: -32601, message: 'Method not found' })
}
