/** One answer of a scripted upstream: plain JSON, or an event stream once something must be said before the result. */
import type { ServerResponse } from 'node:http'
import { type ActiveFault, breakAnswer } from './scripted-faults.ts'

export type Member = { readonly result: unknown } | { readonly error: unknown }

export const event = (message: unknown): string =>
  `event: message\ndata: ${JSON.stringify(message)}\n\n`

export const openStream = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  // The official servers begin a stream with an event that has an id and no data.
  response.write('id: 0\ndata: \n\n')
}

export class Reply {
  readonly #response: ServerResponse
  readonly #id: unknown
  readonly #fault: ActiveFault | undefined

  constructor(response: ServerResponse, id: unknown, fault: ActiveFault | undefined) {
    this.#response = response
    this.#id = id
    this.#fault = fault
  }

  /** Says something before the answer. */
  tell(message: unknown): void {
    if (this.#response.destroyed) return
    if (!this.#response.headersSent) openStream(this.#response)
    this.#response.write(event(message))
  }

  answer(member: Member, asStream: boolean): void {
    const response = this.#response
    if (response.destroyed) return
    const own = this.#fault?.fault
    const fault = own?.kind === 'hang' ? own.next : own
    if (fault && breakAnswer(fault, response, this.#id, member)) return
    const message = { jsonrpc: '2.0', id: this.#id, ...member }
    if (asStream || response.headersSent) {
      this.tell(message)
      response.end()
      return
    }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(message))
  }

  /** An answer that ends the exchange with a status: the transport refuses, no method ran. */
  refuse(status: number, code: number, message: string, data?: unknown): void {
    const error = { code, message, ...(data === undefined ? {} : { data }) }
    this.#response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id: this.#id ?? null, error }))
  }
}
