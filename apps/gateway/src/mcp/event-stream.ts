/** One answer as server-sent events. Every event is one line of JSON; resumption is not offered, so events have no ids. */
import type { ServerResponse } from 'node:http'
import { watchReader } from './answer.ts'
import type { Timing } from './timing.ts'

export class EventStream {
  readonly #res: ServerResponse
  readonly #timing: Timing
  readonly #alive: NodeJS.Timeout

  /** Sends the headers at once. `onQuiet` is called at each interval, for a sign of life. */
  constructor(res: ServerResponse, timing: Timing, onQuiet: (stream: EventStream) => void) {
    this.#res = res
    this.#timing = timing
    res.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    })
    res.flushHeaders()
    res.on('drain', () => res.socket?.setTimeout(0))
    this.#alive = setInterval(() => onQuiet(this), timing.keepAliveMs)
    res.once('close', () => clearInterval(this.#alive))
  }

  /** True while what was written still waits for the guest to read. */
  get isBehind(): boolean {
    return this.#res.writableNeedDrain
  }

  send(json: string | Buffer): void {
    this.#write(typeof json === 'string' ? `event: message\ndata: ${json}\n\n` : framed(json))
  }

  /** A comment, which every client ignores. None while earlier bytes wait. */
  comment(): void {
    if (!this.isBehind) this.#write(':\n\n')
  }

  end(last?: string | Buffer): void {
    clearInterval(this.#alive)
    if (last !== undefined) this.send(last)
    if (!this.#res.closed) this.#res.end()
  }

  #write(bytes: string | Buffer): void {
    const res = this.#res
    if (res.closed || res.writableEnded) return
    if (res.writableLength > this.#timing.backlogBytes) {
      res.destroy()
      return
    }
    if (!res.write(bytes)) watchReader(res, this.#timing)
  }
}

const before = Buffer.from('event: message\ndata: ')
const after = Buffer.from('\n\n')

function framed(json: Buffer): Buffer {
  return Buffer.concat([before, oneLine(json), after])
}

/** Line ends occur in JSON only between tokens; a blank there is the same JSON and keeps the event on one line. */
function oneLine(json: Buffer): Buffer {
  if (!json.includes(10) && !json.includes(13)) return json
  return Buffer.from(json.map((byte) => (byte === 10 || byte === 13 ? 32 : byte)))
}
