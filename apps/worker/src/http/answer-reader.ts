/** Reads the answer to one JSON-RPC request: a JSON body, or an event stream that may say other things first. */
import { SallyportError } from '@sallyport/protocol'
import type { ResponseHeaders } from './exchange.ts'
import { type Message, MessageReader } from './message-reader.ts'
import { SseReader } from './sse-reader.ts'

export interface AnswerOptions {
  readonly id: number
  /** Bytes of the result that are kept; longer ones are only counted and digested. */
  readonly keptBytes: number
  /** Of such a one, as many bytes of its content are kept; left out: none. */
  readonly contentBytes?: number
  /** Once, when the answer is complete. */
  readonly answered: (message: Message) => void
  /** Everything else that was said: requests, notifications, answers to other ids. */
  readonly said?: (message: Message) => void
}

/** All bytes of an answer, whatever they are. */
const totalBytes = 64 * 1024 * 1024

export class AnswerReader {
  readonly #options: AnswerOptions
  readonly #messages: MessageReader
  #sse: SseReader | undefined
  #bytes = 0
  #isAnswered = false

  constructor(options: AnswerOptions) {
    this.#options = options
    this.#messages = new MessageReader(options.keptBytes, options.contentBytes)
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  get isStream(): boolean {
    return this.#sse !== undefined
  }

  /** Throws `upstream_protocol` for a type that holds no messages. */
  head(headers: ResponseHeaders): void {
    const type = String(headers['content-type'] ?? '').toLowerCase()
    if (/^text\/event-stream\s*(?:;|$)/.test(type)) this.#sse = this.#openStream()
    else if (!/^application\/json\s*(?:;|$)/.test(type))
      throw new SallyportError('upstream_protocol')
  }

  /** Throws `upstream_protocol`, `upstream_too_large`. */
  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > totalBytes) throw new SallyportError('upstream_too_large')
    if (this.#sse) this.#sse.push(chunk)
    else this.#messages.push(chunk)
  }

  /** The answer has ended. Throws `upstream_protocol` when that was no answer, `upstream_unreachable` when it broke off. */
  finish(): void {
    if (!this.#sse) this.#take(this.#messages.end(), true)
    else if (!this.#isAnswered) throw new SallyportError('upstream_unreachable')
  }

  #openStream(): SseReader {
    return new SseReader({
      data: (part) => this.#messages.push(part),
      end: () => this.#take(this.#messages.end(), false),
    })
  }

  #take(message: Message, isOnly: boolean): void {
    const isAnswer = message.method === undefined && message.id === this.#options.id
    if (isAnswer && !this.#isAnswered) {
      this.#isAnswered = true
      this.#options.answered(message)
    } else if (isOnly) throw new SallyportError('upstream_protocol')
    else this.#options.said?.(message)
  }
}
