/** The two streams on which a guest learns that its tools changed. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { meta, modernVersion } from '@sallyport/protocol'
import { refusalOf, refuseUnread } from './answer.ts'
import { ChangeStream } from './change-stream.ts'
import {
  acceptsStream,
  type Exchange,
  invalidParams,
  refuse,
  responseText,
  serverInfo,
} from './exchange.ts'
import type { SessionTraffic } from './session-traffic.ts'
import type { Timing } from './timing.ts'

const changed = 'notifications/tools/list_changed'
const acknowledged = 'notifications/subscriptions/acknowledged'

const tooManyStreams = refusalOf('too_many', { 'retry-after': '15' })

/** `subscriptions/listen`: acknowledged first; of what may be asked for, the changes of tools are granted. */
export function listen(exchange: Exchange, isStillOpen: () => Promise<boolean>): void {
  const { traffic, message } = exchange
  const filter: unknown = JSON.parse(message.params.get('notifications') ?? 'null')
  if (typeof filter !== 'object' || filter === null || Array.isArray(filter)) {
    invalidParams(exchange, 'params.notifications must be an object.')
  } else if (!traffic.hasRoom) {
    refuse(exchange, tooManyStreams)
  } else {
    const isWanted = 'toolsListChanged' in filter && filter.toolsListChanged === true
    traffic.keep(subscription(exchange, isWanted, isStillOpen), exchange.res)
  }
}

function subscription(
  { res, id, timing, release }: Exchange,
  isWanted: boolean,
  isStillOpen: () => Promise<boolean>,
): ChangeStream {
  // The id as it came: a number that JavaScript would round is still the guest's id.
  const named = `"${meta.subscriptionId}":${id}`
  const granted = JSON.stringify(isWanted ? { toolsListChanged: true } : {})
  const identity = `"${meta.serverInfo}":${JSON.stringify(serverInfo(release))}`
  return new ChangeStream({
    res,
    timing,
    first: notification(acknowledged, `"_meta":{${named}},"notifications":${granted}`),
    notification: isWanted ? notification(changed, `"_meta":{${named}}`) : undefined,
    last: responseText(id, `{"resultType":"complete","_meta":{${named},${identity}}}`),
    isStillOpen,
  })
}

/** The legacy stream that a client opens with GET. */
export function openLegacyStream(
  req: IncomingMessage,
  res: ServerResponse,
  options: {
    readonly traffic: SessionTraffic
    readonly mcpSession: string | undefined
    readonly timing: Timing
    readonly isStillOpen: () => Promise<boolean>
  },
): void {
  const { traffic, mcpSession, timing, isStillOpen } = options
  if (mcpSession !== undefined) traffic.endStreamOf(mcpSession)
  if (!traffic.hasRoom) {
    refuseUnread(req, res, tooManyStreams, timing)
    return
  }
  const stream = new ChangeStream({
    res,
    timing,
    ...(mcpSession === undefined ? {} : { mcpSession }),
    notification: `{"jsonrpc":"2.0","method":"${changed}"}`,
    isStillOpen,
  })
  traffic.keep(stream, res)
}

/** A GET that asks for events, from a client that speaks no 2026-07-28. */
export function isLegacyStream(req: IncomingMessage): boolean {
  return acceptsStream(req) && req.headers['mcp-protocol-version'] !== modernVersion
}

function notification(method: string, params: string): string {
  return `{"jsonrpc":"2.0","method":"${method}","params":{${params}}}`
}
