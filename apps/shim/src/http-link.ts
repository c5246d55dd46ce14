/** Streamable HTTP over TCP, TLS or a Unix socket: a POST for each message, connections kept for the next. */
import type { Socket } from 'node:net'
import { eventReader, type FewHeaders, release, shimHeaders } from '@sallyport/protocol/shim'
import { httpReader } from './http-reader.ts'
import { type Link, nothing, type Outgoing, type Sink } from './link.ts'

export interface HttpPlace {
  /** A new connection, which is still connecting. */
  readonly open: () => Socket
  /** The event that says that it is there. */
  readonly connected: 'connect' | 'secureConnect'
  readonly headers: FewHeaders
  /** For what belongs to no message. */
  readonly path: string
}

const connectMs = 5_000
/** The gateway shows a sign of life every 15 seconds. */
const silenceMs = 60_000

export function httpLink(place: HttpPlace, shim: string, random: () => string): Link {
  const { open, connected, headers, path } = place
  const own = { ...headers, [shimHeaders.shim]: shim, [shimHeaders.release]: release }
  const idle = new Set<Socket>()
  const connection = (): Socket => {
    const socket = open()
    // What went wrong shows in its closing.
    socket.on('error', nothing)
    socket.on('timeout', () => socket.destroy())
    socket.once(connected, () => socket.setTimeout(silenceMs))
    socket.once('close', () => idle.delete(socket))
    return socket.setTimeout(connectMs)
  }
  const send: Link['send'] = (request, sink) => {
    let stop: () => void
    const begin = (kept?: Socket): void => {
      const socket = kept ?? connection()
      if (kept) idle.delete(kept)
      stop = exchange(socket, connected, requestText(request, own), {
        ...sink,
        // A kept connection may be closed just as we write. With the same call id it is the same call.
        failed: (failure, isEarly) => (kept && isEarly ? begin() : sink.failed(failure)),
        free: () => idle.add(socket),
      })
    }
    const [kept] = idle
    begin(kept)
    return () => stop()
  }
  let telling = 0
  let onTold = nothing
  const settle: Link['settle'] = (call, fate) => {
    const told = (): void => {
      telling--
      if (telling === 0) onTold()
    }
    telling++
    const about = { [shimHeaders[fate]]: call }
    const asked = { call: random(), method: 'POST', path, headers: about, body: '', isCall: false }
    send(asked as Outgoing, { head: nothing, message: nothing, end: told, failed: told })
  }
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      onTold = resolve
      if (telling === 0) resolve()
    })
  return { send, settle, close }
}

function requestText(request: Outgoing, own: FewHeaders): string {
  const { call, method, path, headers, body } = request
  const all: Record<string, string | number> = {
    ...own,
    [shimHeaders.call]: call,
    ...headers,
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

interface ExchangeEvents extends Omit<Sink, 'failed'> {
  /** `isEarly`: before the first byte of a response. */
  readonly failed: (failure: 'unsent' | 'cut', isEarly: boolean) => void
  /** The connection may be used again. */
  readonly free: () => void
}

/** One request and its response on one connection. */
function exchange(
  socket: Socket,
  connected: string,
  request: string,
  on: ExchangeEvents,
): () => void {
  let isThere = !socket.connecting
  let isEarly = true
  const chunks: Buffer[] = []
  let take: (bytes: Buffer) => void = (bytes) => chunks.push(bytes)
  // JSON has line ends only between tokens, where a blank is the same.
  const tell = (text: string): void => on.message(text.replace(/[\r\n]+/g, ' '))
  const read = httpReader({
    head: (status, headers) => {
      on.head(status, headers)
      if (/^text\/event-stream/.test(headers['content-type'] ?? '')) take = eventReader(tell)
    },
    body: (bytes) => take(bytes),
    done: (reusable) => {
      leave()
      const whole = Buffer.concat(chunks).toString()
      // Whoever stands in the way may answer with a page.
      if (whole.startsWith('{')) tell(whole)
      if (reusable) on.free()
      else socket.destroy()
      on.end()
    },
  })
  const onConnected = (): void => {
    isThere = true
  }
  const onData = (bytes: Buffer): void => {
    isEarly = false
    try {
      read(bytes)
    } catch {
      // Given up like a connection that was cut.
      socket.destroy()
    }
  }
  const onClose = (): void => on.failed(isThere ? 'cut' : 'unsent', isEarly)
  const leave = (): void => {
    socket.off(connected, onConnected).off('data', onData).off('close', onClose)
  }
  socket.on(connected, onConnected).on('data', onData).on('close', onClose)
  socket.write(request)
  return () => {
    leave()
    socket.destroy()
  }
}
