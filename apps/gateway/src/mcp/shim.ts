/** What a shim says in headers beside MCP. Any guest may say it: it names that guest's own calls and nothing else. */
import type { IncomingMessage } from 'node:http'
import { shimHeaders, shimIdForm } from '@sallyport/protocol/shim'
import { single } from './era.ts'

/** The shim whose request this is: the scope of its JSON-RPC ids. */
export function shimOf(req: IncomingMessage): string | undefined {
  return idIn(req, shimHeaders.shim)
}

/** Its random id of this request. */
export function shimCallOf(req: IncomingMessage): string | undefined {
  return idIn(req, shimHeaders.call)
}

export interface SettledCalls {
  readonly fate: 'delivered' | 'lost'
  readonly call: string
}

/** Of a request that tells what became of an earlier answer, and is nothing else. */
export function settledCalls(req: IncomingMessage): SettledCalls | undefined {
  for (const fate of ['delivered', 'lost'] as const) {
    const call = idIn(req, shimHeaders[fate])
    if (call !== undefined) return { fate, call }
  }
  return undefined
}

function idIn(req: IncomingMessage, name: string): string | undefined {
  const value = single(req.headers[name])
  return value !== undefined && shimIdForm.test(value) ? value : undefined
}
