/** One authorized POST with a well-formed request in it, and the ways to answer it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Session } from '@sallyport/core'
import { meta } from '@sallyport/protocol'
import { answerError, answerJson, type Refusal } from './answer.ts'
import type { Message } from './envelope.ts'
import type { Era } from './era.ts'
import type { SessionTraffic } from './session-traffic.ts'
import type { Timing } from './timing.ts'

export interface Exchange {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly session: Session
  readonly traffic: SessionTraffic
  /** Of the path; null for `/mcp`. */
  readonly connection: string | null
  readonly era: Era
  /** Where the id means something to a later cancel; null where only the stream can cancel. */
  readonly cancelScope: string | null
  readonly message: Message
  /** JSON text. */
  readonly id: string
  readonly timing: Timing
  readonly release: string
}

export function serverInfo(release: string): { name: string; title: string; version: string } {
  return { name: 'sallyport', title: 'Sallyport', version: release }
}

export const capabilities = { tools: { listChanged: true } }

/** JSON text of one of our own results: 2026-07-28 wants its type and who answers. */
export function ownResult(exchange: Pick<Exchange, 'era' | 'release'>, result: object): string {
  if (exchange.era === 'legacy') return JSON.stringify(result)
  const identity = { [meta.serverInfo]: serverInfo(exchange.release) }
  const own = '_meta' in result ? (result._meta as object) : {}
  return JSON.stringify({ resultType: 'complete', ...result, _meta: { ...own, ...identity } })
}

/** `result` is JSON text. */
export function answer(
  { res, id, timing }: Exchange,
  result: string,
  headers?: Readonly<Record<string, string>>,
): void {
  answerJson(res, 200, responseText(id, result), timing, headers)
}

export function responseText(id: string, result: string): string {
  return `{"jsonrpc":"2.0","id":${id},"result":${result}}`
}

export function refuse({ res, id, timing }: Exchange, refusal: Refusal): void {
  answerError(res, id, refusal, timing)
}

/** Told with status 200: the HTTP exchange went well. */
export function invalidParams(exchange: Exchange, message: string): void {
  refuse(exchange, { status: 200, code: -32602, message })
}

export function acceptsStream(req: IncomingMessage): boolean {
  return /\btext\/event-stream\b/i.test(req.headers.accept ?? '')
}
