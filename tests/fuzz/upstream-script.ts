/** What a server of either era answers when it means well; what it means ill is changed on the way out. */
import type { Random } from '../system/random.ts'
import { emptyAnswer, hostileAnswer, rightAnswer, type Written } from './hostile-answers.ts'
import type { Asked } from './hostile-server.ts'

export type Era = 'legacy' | 'modern'

const modern = '2026-07-28'
const serverInfo = { name: 'hostile', version: '1' }
const meta = { _meta: { 'io.modelcontextprotocol/serverInfo': serverInfo } }
const cache = { ttlMs: 0, cacheScope: 'private' }
const tool = { name: 'echo', inputSchema: { type: 'object', additionalProperties: true } }

/** The right answer to a request; undefined for what has none. */
function rightMessage(era: Era, asked: Asked): Record<string, unknown> | undefined {
  const { id, method, params } = asked
  if (id === undefined || method === undefined) return undefined
  const answer = (result: object) => ({
    jsonrpc: '2.0',
    id,
    result: era === 'modern' ? { ...result, resultType: 'complete', ...meta } : result,
  })
  const capabilities = { tools: { listChanged: true } }
  if (method === 'tools/list') return answer({ tools: [tool], ...(era === 'modern' ? cache : {}) })
  if (method === 'tools/call') {
    const { nonce, pad = '' } = (params['arguments'] ?? {}) as { nonce?: unknown; pad?: unknown }
    return answer({ content: [{ type: 'text', text: `${nonce}${pad}` }] })
  }
  if (era === 'modern' && method === 'server/discover')
    return answer({ supportedVersions: [modern], capabilities, ...cache })
  if (era === 'legacy' && method === 'initialize')
    return answer({ protocolVersion: '2025-11-25', capabilities, serverInfo })
  return { jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } }
}

/** What a server says on a stream that stands, if it has one. */
const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

export const isStream = ({ verb, method }: Asked): boolean =>
  verb === 'GET' || method === 'subscriptions/listen'

export interface Script {
  readonly era: Era
  /** Of the request, when its answer is to be wrong. */
  readonly randomFor: (asked: Asked) => Random | undefined
  /** Answers of a little while ago. */
  readonly foreign: string[]
  readonly stalls: boolean
}

const rememberedAnswers = 32

export function answerBy(script: Script, asked: Asked): Written {
  const { era, foreign, stalls } = script
  const random = script.randomFor(asked)
  const message = isStream(asked) && random ? changed : rightMessage(era, asked)
  if (message === undefined) return emptyAnswer(asked.verb === 'GET' ? '405 No' : '202 Accepted')
  const isFirst = era === 'legacy' && asked.method === 'initialize'
  const headers = isFirst ? [`mcp-session-id: s-${Math.trunc(performance.now())}`] : []
  const written = random
    ? hostileAnswer({ random, message, foreign: [...foreign], headers, stalls })
    : rightAnswer(message, headers)
  if (asked.method === 'tools/call') foreign.push(JSON.stringify(message))
  if (foreign.length > rememberedAnswers) foreign.shift()
  return written
}
