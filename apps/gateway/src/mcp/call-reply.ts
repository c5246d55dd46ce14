/** The answer to one `tools/call`: a JSON body when it comes soon, else an event stream that shows signs of life. */
import type { ProgressHead } from '@sallyport/protocol/node'
import { answerJson } from './answer.ts'
import { isId } from './envelope.ts'
import { EventStream } from './event-stream.ts'
import { acceptsStream, type Exchange, ownResult, responseText } from './exchange.ts'
import { withResultType } from './result-type.ts'

const closing = Buffer.from('}')

type Progress = Pick<ProgressHead, 'progress' | 'total' | 'message'>

export class CallReply {
  /** Set when the guest gave a token and takes events. */
  readonly progress: ((progress: Progress) => void) | undefined
  /** The answer waits for somebody: opens the stream now. Nothing for a guest without events, or one that has gone. */
  readonly held = (): void => {
    const { res } = this.#exchange
    if (this.#late !== undefined && !res.headersSent && !res.closed) this.#open()
  }
  readonly #exchange: Exchange
  readonly #late: NodeJS.Timeout | undefined
  #stream: EventStream | undefined
  #told = Number.NEGATIVE_INFINITY
  #quiets = 0

  constructor(exchange: Exchange) {
    this.#exchange = exchange
    const { req, message, res, timing } = exchange
    // What would end the timers of a stream has happened already.
    if (!acceptsStream(req) || res.closed) return
    this.#late = setTimeout(() => this.#open(), timing.openStreamAfterMs)
    res.once('close', () => clearTimeout(this.#late))
    const token = message.meta.get('progressToken')
    if (token !== undefined && isId(token))
      this.progress = (progress) => this.#tell(token, progress)
  }

  /** The upstream's result, byte for byte; only a missing `resultType` is added for guests whose era demands it. */
  finish(result: Buffer): void {
    const { id, era } = this.#exchange
    const head = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`)
    this.#finish([head, era === 'modern' ? withResultType(result) : result, closing])
  }

  finishOwn(result: object): void {
    const { id } = this.#exchange
    this.#finish(responseText(id, ownResult(this.#exchange, result)))
  }

  #finish(response: string | readonly Buffer[]): void {
    clearTimeout(this.#late)
    const { res, timing } = this.#exchange
    if (!this.#stream) answerJson(res, 200, response, timing)
    else this.#stream.end(typeof response === 'string' ? response : Buffer.concat(response))
  }

  #open(): EventStream {
    clearTimeout(this.#late)
    const { res, timing } = this.#exchange
    this.#stream ??= new EventStream(res, timing, (stream) => this.#onQuiet(stream))
    return this.#stream
  }

  #tell(token: string, { progress, total, message }: Progress): void {
    // Values must rise; a client may give up on the call over one that does not.
    const { res } = this.#exchange
    if (!(progress > this.#told) || res.writableEnded) return
    this.#told = progress
    const rest = JSON.stringify({ progress, total, message }).slice(1)
    this.#open().send(
      `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${token},${rest}}`,
    )
  }

  /**
   * Two of the clients count a minute from the last progress and see no comments. Ours is so small that whatever the
   * upstream still reports is more.
   */
  #onQuiet(stream: EventStream): void {
    const isSilent = this.#told < 1e-3
    if (this.progress && isSilent && !stream.isBehind) {
      this.#quiets++
      this.progress({ progress: this.#quiets * 1e-6, message: 'The call has not ended yet.' })
    } else {
      stream.comment()
    }
  }
}
