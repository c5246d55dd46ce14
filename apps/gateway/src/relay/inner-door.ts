/**
 * The guest endpoint for requests that did not come by HTTP: each is one HTTP exchange in memory, so that what holds of a
 * request (its era, its limits, its leaving) is decided in one place, however it came.
 */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { release } from '@sallyport/protocol'
import {
  eventReader,
  type FewHeaders,
  type RequestRecord,
  shimHeaders,
} from '@sallyport/protocol/shim'
import { guestServerOptions } from '../mcp/timing.ts'

export interface InnerAnswer {
  readonly head: (status: number, headers: FewHeaders) => void
  /** One JSON-RPC message on one line. No more comes until it was taken. */
  readonly message: (text: string) => Promise<void> | void
  readonly end: (isWhole: boolean) => void
}

export type InnerRequest = Pick<
  RequestRecord,
  'shim' | 'call' | 'method' | 'path' | 'headers' | 'message'
>

export class InnerDoor {
  readonly #server

  /** `handle`: the guest endpoint, bound to the session whose guest is at the other end. */
  constructor(handle: (req: IncomingMessage, res: ServerResponse) => void) {
    this.#server = createServer(guestServerOptions, handle)
  }

  /** The function that comes back closes the exchange, as a guest that leaves; `on` hears nothing more. */
  ask(asked: InnerRequest, on: InnerAnswer): () => void {
    const near = this.#connect()
    let isOver = false
    const end = (isWhole: boolean): void => {
      if (isOver) return
      isOver = true
      near.destroy()
      on.end(isWhole)
    }
    const req = request(this.#optionsOf(asked, near))
    req.on('error', () => end(false))
    req.on('response', (res) => {
      if (!isOver) passOn(res, on, () => isOver).then(end, () => end(false))
    })
    req.end(asked.message)
    return () => {
      isOver = true
      near.destroy()
    }
  }

  /** What became of an answer. Resolves when it was heard. */
  settle(shim: string, call: string, fate: 'delivered' | 'lost'): Promise<void> {
    const headers = { [shimHeaders[fate]]: call }
    return this.#tell({ shim, call, method: 'POST', path: '/mcp', headers, message: '' })
  }

  /** `id` is JSON text. Resolves when it was heard. */
  cancel(shim: string, call: string, id: string): Promise<void> {
    const message = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":${id}}}`
    return this.#tell({ shim, call, method: 'POST', path: '/mcp', headers: {}, message })
  }

  #tell(asked: InnerRequest): Promise<void> {
    return new Promise((resolve) => {
      this.ask(asked, { head: () => {}, message: () => {}, end: () => resolve() })
    })
  }

  #connect(): Duplex {
    const [near, far] = duplexPair()
    // Nobody is behind these: what is not taken piles up in our own memory, and is bounded there.
    Object.assign(far, { setTimeout: () => far })
    // Node ends neither with the other.
    near.on('error', () => {}).once('close', () => far.destroy())
    far.on('error', () => {}).once('close', () => near.destroy())
    this.#server.emit('connection', far)
    return near
  }

  #optionsOf({ shim, call, method, path, headers, message }: InnerRequest, near: Duplex) {
    const own: OutgoingHttpHeaders = {
      host: 'localhost',
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(message),
      [shimHeaders.shim]: shim,
      [shimHeaders.release]: release,
      [shimHeaders.call]: call,
    }
    return { method, path, headers: { ...headers, ...own }, createConnection: () => near }
  }
}

/** Resolves when the answer has ended: true when it is whole. */
async function passOn(
  res: IncomingMessage,
  on: InnerAnswer,
  isOver: () => boolean,
): Promise<boolean> {
  const { 'mcp-session-id': session, 'content-type': type = '' } = res.headers
  on.head(res.statusCode ?? 0, session === undefined ? {} : { 'mcp-session-id': String(session) })
  const isStream = type.startsWith('text/event-stream')
  const messages: string[] = []
  const chunks: Buffer[] = []
  const read = eventReader((data) => messages.push(data))
  for await (const chunk of res) {
    if (isStream) read(chunk)
    else chunks.push(chunk)
    for (const message of messages.splice(0)) if (!isOver()) await on.message(message)
  }
  // Line ends occur in JSON only between tokens, where a blank is the same.
  const whole = Buffer.concat(chunks)
    .toString('utf8')
    .replace(/[\r\n]+/g, ' ')
  if (type.startsWith('application/json') && whole !== '' && !isOver()) await on.message(whole)
  return res.complete
}
