/** What a server does instead of answering. */
import type { ServerResponse } from 'node:http'

export type ServerFault =
  | { readonly kind: 'answer'; readonly status: number; readonly body?: string | object }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'cut' }
  | { readonly kind: 'hang' }
  /** A byte now and then, never the last one. */
  | { readonly kind: 'drip' }
  | { readonly kind: 'huge' }

export function answer(status: number, body?: string | object): ServerFault {
  return { kind: 'answer', status, ...(body === undefined ? {} : { body }) }
}

export function commit(fault: ServerFault, response: ServerResponse): void {
  switch (fault.kind) {
    case 'answer': {
      const { status, body = '' } = fault
      const isJson = typeof body === 'object'
      response.writeHead(status, { 'content-type': isJson ? 'application/json' : 'text/html' })
      response.end(isJson ? JSON.stringify(body) : body)
      return
    }
    case 'redirect':
      response.writeHead(302, { location: fault.to }).end()
      return
    case 'cut':
      response.socket?.destroy()
      return
    case 'hang':
      return
    case 'drip': {
      response.writeHead(200, { 'content-type': 'application/json' })
      const timer = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(timer))
      return
    }
    case 'huge':
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ filler: 'x'.repeat(70_000) }))
      return
  }
}
