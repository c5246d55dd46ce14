/** Ways a scripted upstream goes wrong, as data. */
import type { ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'

export type Fault =
  /** Never answers; `answerHeld` of the upstream answers later, or goes wrong in another way. */
  | { readonly kind: 'hang'; readonly next?: Fault }
  /** Answers after that time. */
  | { readonly kind: 'late'; readonly ms: number }
  /** Ends the connection without a byte, or in the middle of the answer. */
  | { readonly kind: 'cut'; readonly midway?: boolean }
  /** An event stream that breaks off in the middle of the answer, or behind it. */
  | { readonly kind: 'cut_stream'; readonly behind?: boolean }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string
    }
  | { readonly kind: 'redirect'; readonly to: string; readonly status?: number }
  /** The right answer to another id. */
  | { readonly kind: 'wrong_id' }
  /** The right answer, gzipped. */
  | { readonly kind: 'compressed' }
  /** An event stream that goes on for ever without the answer. */
  | { readonly kind: 'endless_sse'; readonly chunkBytes?: number; readonly everyMs?: number }
  /** Any bytes; the function gets the JSON text of the right id and of the right answer's `result` (or `error`). */
  | {
      readonly kind: 'raw'
      readonly contentType?: string
      readonly body: (id: string, result: string) => string | Uint8Array
    }

export interface FaultScope {
  /** JSON-RPC method, or `GET` and `DELETE`. Left out: every one. */
  readonly method?: string
  /** Only calls of this tool. */
  readonly tool?: string
  /** How often; left out: until `behave`. */
  readonly times?: number
  /** Whether the tool still acts. Left out: a status and a redirect keep it from acting, the others do not. */
  readonly effect?: boolean
}

export interface ActiveFault extends FaultScope {
  readonly fault: Fault
  left: number
}

/** Takes the first fault that fits and uses it up by one. */
export function takeFault(
  faults: readonly ActiveFault[],
  method: string,
  tool: unknown,
): ActiveFault | undefined {
  const found = faults.find(
    (one) =>
      one.left > 0 &&
      (one.method === undefined || one.method === method) &&
      (one.tool === undefined || one.tool === tool),
  )
  if (found) found.left--
  return found
}

/** Whether the server does nothing but go wrong. */
export function keepsFromActing({ effect, fault }: ActiveFault, method: string): boolean {
  if (effect !== undefined) return !effect
  switch (fault.kind) {
    case 'status':
    case 'redirect':
      return true
    case 'cut':
      return !fault.midway && method !== 'tools/call'
    case 'endless_sse':
      return method !== 'tools/call'
    case 'hang':
      return method === 'DELETE' || method === 'GET'
    default:
      return false
  }
}

/** Faults that need no answer. True when the response is dealt with. */
export function breakBefore(fault: Fault, response: ServerResponse): boolean {
  switch (fault.kind) {
    case 'cut':
      if (fault.midway) return false
      response.socket?.destroy()
      return true
    case 'status':
      response.writeHead(fault.status, fault.headers).end(fault.body ?? '')
      return true
    case 'redirect':
      response.writeHead(fault.status ?? 307, { location: fault.to }).end()
      return true
    case 'endless_sse':
      endless(response, fault.chunkBytes ?? 16, fault.everyMs ?? 5)
      return true
    default:
      return false
  }
}

function endless(response: ServerResponse, chunkBytes: number, everyMs: number): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = `data: ${JSON.stringify({
    jsonrpc: '2.0',
    method: 'notifications/message',
    params: { level: 'info', data: 'x'.repeat(chunkBytes) },
  })}\n\n`
  const timer = setInterval(() => {
    if (response.writableLength < 1_000_000) response.write(chunk)
  }, everyMs)
  response.once('close', () => clearInterval(timer))
}

/** Faults in the answer itself. True when the response is dealt with. */
export function breakAnswer(
  fault: Fault,
  response: ServerResponse,
  id: unknown,
  member: { readonly result?: unknown; readonly error?: unknown },
): boolean {
  const answer = (answerId: unknown) => JSON.stringify({ jsonrpc: '2.0', id: answerId, ...member })
  const json = { 'content-type': 'application/json' }
  switch (fault.kind) {
    case 'wrong_id':
      response.writeHead(200, json).end(answer(`${id}-other`))
      return true
    case 'compressed':
      response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(gzipSync(answer(id)))
      return true
    case 'cut': {
      const whole = answer(id)
      response.writeHead(200, { ...json, 'content-length': String(whole.length) })
      response.write(whole.slice(0, whole.length / 2), () => response.socket?.destroy())
      return true
    }
    case 'cut_stream': {
      const whole = `data: ${answer(id)}\n\n`
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const sent = fault.behind ? whole : whole.slice(0, whole.length / 2)
      response.write(sent, () => response.socket?.destroy())
      return true
    }
    case 'raw': {
      const inner = JSON.stringify(member.result ?? member.error)
      response
        .writeHead(200, { 'content-type': fault.contentType ?? 'application/json' })
        .end(fault.body(JSON.stringify(id), inner))
      return true
    }
    default:
      return false
  }
}
