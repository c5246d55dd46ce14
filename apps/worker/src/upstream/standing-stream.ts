/**
 * The stream on which an upstream says that its tools have changed: the GET stream of a legacy session, or
 * `subscriptions/listen`. It is opened again when it breaks, less and less eagerly, and given up when the server has
 * none: then the age of the listing alone decides.
 */
import { SallyportError } from '@sallyport/protocol'
import { Exchange, type HttpRequest } from '../http/exchange.ts'
import { type Message, MessageReader } from '../http/message-reader.ts'
import { SseReader } from '../http/sse-reader.ts'
import type { Channel } from './channel.ts'
import type { Contact } from './contact.ts'
import { refuseRequest } from './refuse-request.ts'
import { composeRequest, contactHeaders, nextId, plainHeaders } from './requests.ts'

export interface StreamEvents {
  /** The tools may have changed. */
  changed(): void
}

const firstDelayMs = 1_000
const lastDelayMs = 60_000
/** Nothing that matters here is long. */
const keptBytes = 65_536
/** Nor is all of it together: a server that never stops talking is heard again after a pause. */
const streamBytes = 1024 * 1024
/** Until the stream is open, and then without a word: a server that still has it says so from time to time. */
const headMs = 10_000
const idleMs = 900_000
/** Answers to a server that takes none of them must not pile up, nor take every connection. */
const refusalsAtOnce = 4

export class StandingStream {
  readonly #channel: Channel
  readonly #contact: Contact
  readonly #events: StreamEvents
  #isStopped = false
  #delay = firstDelayMs
  #current: Exchange | undefined
  #cancelTimer: () => void = () => {}
  #hadStream = false
  #refusing = 0

  constructor(channel: Channel, contact: Contact, events: StreamEvents) {
    this.#channel = channel
    this.#contact = contact
    this.#events = events
  }

  start(): void {
    this.#run().catch(() => {})
  }

  stop(): void {
    this.#isStopped = true
    this.#cancelTimer()
    this.#current?.stop('upstream_unreachable')
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      const isWorthAgain = await this.#once()
      if (!isWorthAgain || this.#isStopped) return
      await this.#pause()
    }
  }

  #pause(): Promise<void> {
    const delay = this.#delay
    this.#delay = Math.min(2 * delay, lastDelayMs)
    return new Promise((resolve) => {
      this.#cancelTimer = this.#channel.clock.after(delay, resolve)
    })
  }

  /** One stream from beginning to end. False when there is none to be had. */
  async #once(): Promise<boolean> {
    const connection = this.#channel.connections.single()
    let isRefused = false
    let bytes = 0
    const sse = this.#reader()
    try {
      this.#current = new Exchange({
        request: this.#request(),
        clock: this.#channel.clock,
        headMs,
        idleMs,
        listener: {
          head: (status, headers) => {
            const isStream = /^text\/event-stream\b/i.test(String(headers['content-type'] ?? ''))
            isRefused = (status >= 300 && status < 500) || (status < 300 && !isStream)
            if (status !== 200 || !isStream) throw new SallyportError('upstream_protocol')
            this.#opened()
          },
          data: (chunk) => {
            bytes += chunk.length
            if (bytes > streamBytes) throw new SallyportError('upstream_too_large')
            sse.push(chunk)
          },
        },
      })
      this.#current.start(connection, () => {})
      await this.#current.ended
    } catch {
      // A stream ends when it ends: what is missed is caught up with when it is open again.
    } finally {
      void connection.destroy()
    }
    return !isRefused
  }

  /** What was announced while no stream was open is lost, so the tools may have changed. */
  #opened(): void {
    this.#delay = firstDelayMs
    if (this.#hadStream) this.#events.changed()
    this.#hadStream = true
  }

  #request(): HttpRequest {
    const target = this.#channel.target()
    if (this.#contact.era === 'modern')
      return composeRequest(target, this.#contact, {
        id: nextId(),
        method: 'subscriptions/listen',
        params: { notifications: { toolsListChanged: true } },
      })
    return {
      method: 'GET',
      path: target.endpoint.path,
      headers: [...plainHeaders(target, 'text/event-stream'), ...contactHeaders(this.#contact)],
    }
  }

  #reader(): SseReader {
    const messages = new MessageReader(keptBytes)
    return new SseReader({
      data: (part) => messages.push(part),
      end: () => this.#said(messages.end()),
    })
  }

  #said(message: Message): void {
    if (message.method === 'notifications/tools/list_changed') this.#events.changed()
    else if (
      message.method !== undefined &&
      message.id !== undefined &&
      this.#contact.era === 'legacy'
    )
      this.#refuse(message)
  }

  #refuse(message: Message): void {
    if (this.#refusing >= refusalsAtOnce) return
    this.#refusing++
    void refuseRequest(this.#channel, this.#contact, message).finally(() => this.#refusing--)
  }
}
