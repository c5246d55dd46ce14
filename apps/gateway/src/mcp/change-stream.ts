/** A stream that tells a guest when its list of tools changed: the legacy GET, or `subscriptions/listen`. */
import type { ServerResponse } from 'node:http'
import { EventStream } from './event-stream.ts'
import type { Timing } from './timing.ts'

export interface ChangeStreamOptions {
  readonly res: ServerResponse
  readonly timing: Timing
  /** Mcp-Session-Id of a legacy stream. */
  readonly mcpSession?: string
  /** First message, if any; the notification, unless none was asked for; last message, if the era has one. */
  readonly first?: string
  readonly notification: string | undefined
  readonly last?: string
  /** Asked at each interval; a stream outlives no session. */
  readonly isStillOpen: () => Promise<boolean>
}

export class ChangeStream {
  readonly mcpSession: string | undefined
  readonly #options: ChangeStreamOptions
  readonly #stream: EventStream
  #isOwed = false

  constructor(options: ChangeStreamOptions) {
    this.#options = options
    this.mcpSession = options.mcpSession
    this.#stream = new EventStream(options.res, options.timing, () => this.#onQuiet())
    if (options.first !== undefined) this.#stream.send(options.first)
    options.res.on('drain', () => {
      if (this.#isOwed) this.changed()
    })
  }

  /** To a guest that is behind it is told once, when it has caught up. */
  changed(): void {
    const { notification } = this.#options
    if (notification === undefined) return
    this.#isOwed = this.#stream.isBehind
    if (!this.#isOwed) this.#stream.send(notification)
  }

  end(): void {
    this.#stream.end(this.#options.last)
  }

  #onQuiet(): void {
    this.#stream.comment()
    // What cannot be read is no reason to end a stream; the next interval asks again.
    this.#options.isStillOpen().then(
      (isOpen) => {
        if (!isOpen) this.end()
      },
      () => {},
    )
  }
}
