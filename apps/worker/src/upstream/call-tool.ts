/** `tools/call`, written once, on one connection: never repeated, never redirected, never validated after the effect. */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import { frameLimit, type Intent, type ProgressHead } from '@sallyport/protocol/node'
import { AnswerReader } from '../http/answer-reader.ts'
import { Exchange, type Listener, type ResponseHeaders } from '../http/exchange.ts'
import type { Message } from '../http/message-reader.ts'
import { notSent, type Outcome } from '../orders/outcome.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import type { Target } from '../vault/vault.ts'
import { outcomeOfAnswer, refusedWith } from './call-verdict.ts'
import type { Contact } from './contact.ts'
import { refuseRequest } from './refuse-request.ts'
import { composeCall, nextId } from './requests.ts'
import type { Upstream } from './upstream.ts'

export interface ToolCallOptions {
  readonly upstream: Upstream
  readonly contact: Contact
  readonly target: Target
  readonly intent: Intent
  readonly argumentsRaw: Buffer
  /** The last word before the first byte; a code keeps it from leaving. */
  readonly pass: () => ErrorCode | undefined
  readonly progress: (head: Omit<ProgressHead, 'intent'>) => void
}

/** A write does not use a connection the server may be closing; what is lost there would be unknown. */
const writeIdleMs = 1_000
const readIdleMs = 20_000
/** Enough to see why a request was refused; what comes after it is read and forgotten, within a bound. */
const refusalBytes = 65_536
const mostRefusalBytes = 8 * 1024 * 1024
/** A stream may go on after the answer; it gets as long to end by itself, so that its connection can be kept. */
const lingerMs = 1_000
/** A result travels in one frame. */
const mostResultBytes = frameLimit - 65_536
const mostRequests = 100
const mostProgress = 1_000
const progressText = 1_024

export class ToolCall implements Listener {
  readonly #options: ToolCallOptions
  readonly #id = nextId()
  readonly #exchange: Exchange
  readonly #reader: AnswerReader
  #isSent = false
  #sentAt = 0
  #status: number | undefined
  #refusal = ''
  #refusalBytes = 0
  #serverRequests = 0
  #violations = 0
  #progressed = 0
  #settle: (outcome: Outcome) => void = () => {}

  constructor(options: ToolCallOptions) {
    this.#options = options
    const { upstream, contact, target, intent, argumentsRaw } = options
    this.#reader = new AnswerReader({
      id: this.#id,
      keptBytes: Math.min(intent.limits.resultBytes, mostResultBytes),
      answered: (message) => this.#answered(message),
      said: (message) => this.#said(message),
    })
    const tool = intent.tool as string
    this.#exchange = new Exchange({
      request: composeCall(target, contact, { id: this.#id, intent, tool, argumentsRaw }),
      listener: this,
      clock: upstream.clock,
      totalMs: intent.limits.callMs,
    })
  }

  /** Resolves with what became of it; never rejects. */
  run(): Promise<Outcome> {
    const { upstream, intent } = this.#options
    const outcome = new Promise<Outcome>((resolve) => {
      this.#settle = resolve
    })
    this.#exchange.ended.then(
      () => this.#complete(),
      (error) => this.#failed(error),
    )
    const idleMs = intent.access === 'read' ? readIdleMs : writeIdleMs
    upstream.connections.run(idleMs, (connection, done) => this.#exchange.start(connection, done))
    return outcome
  }

  /** A wish. Closing the stream of a 2026-07-28 read is how it is cancelled there; a write goes on. */
  cancel(): void {
    if (this.#options.contact.era === 'modern' && this.#options.intent.access === 'read')
      this.#exchange.stop('outcome_lost')
  }

  before(): void {
    const { upstream, intent, pass } = this.#options
    const isReviewed = upstream.catalog.digestOf(intent.tool as string) === intent.toolDigest
    const code = isReviewed ? pass() : 'tool_changed'
    if (code) throw new SallyportError(code)
    this.#isSent = true
    this.#sentAt = upstream.clock.monotonic()
  }

  head(status: number, headers: ResponseHeaders): void {
    this.#status = status
    if (status >= 500) throw new SallyportError('upstream_http_5xx')
    if (status < 300) this.#reader.head(headers)
  }

  data(chunk: Buffer): void {
    if ((this.#status ?? 0) < 300) {
      this.#reader.data(chunk)
      return
    }
    this.#refusalBytes += chunk.length
    if (this.#refusalBytes > mostRefusalBytes) throw new SallyportError('upstream_too_large')
    if (this.#refusal.length < refusalBytes) this.#refusal += chunk.toString('latin1')
  }

  /** The exchange has ended in order. */
  #complete(): void {
    const status = this.#status ?? 0
    if (status >= 300) this.#refused(status)
    else {
      try {
        this.#reader.finish()
      } catch (thrown) {
        this.#failed(toSallyportError(thrown))
      }
    }
  }

  #refused(status: number): void {
    const { upstream, contact } = this.#options
    const code = refusedWith(status, contact, this.#refusal)
    // A modern server that refuses may speak another version by now; asking costs one request.
    const isOutdated = code === 'upstream_refused' && contact.era === 'modern'
    if (code === 'upstream_session_lost' || isOutdated) upstream.forget(contact)
    this.#end({ head: { verdict: 'result', code } })
  }

  #failed({ code }: SallyportError): void {
    this.#end(this.#isSent ? { head: { verdict: 'uncertain', code } } : notSent(code))
  }

  #answered(message: Message): void {
    const { contact, target, upstream } = this.#options
    this.#end(outcomeOfAnswer(message, contact, target.forms))
    if (this.#reader.isStream) {
      const cancel = upstream.clock.after(lingerMs, () => this.#exchange.stop('upstream_timeout'))
      this.#exchange.ended.finally(cancel).catch(() => {})
    }
  }

  #said(message: Message): void {
    const { contact, upstream, target } = this.#options
    if (message.method === 'notifications/progress') this.#progress(message.params, target)
    else if (message.method === 'notifications/tools/list_changed')
      upstream.catalog.announceChange()
    else if (message.id === undefined) return
    else if (contact.era === 'modern' || message.method === undefined) this.#violations++
    else if (this.#serverRequests++ < mostRequests) void refuseRequest(upstream, contact, message)
  }

  /** Only ours, only what is a number, and never with the credential in its words. */
  #progress(params: unknown, target: Target): void {
    const { progressToken, progress, total, message } = (params ?? {}) as Record<string, unknown>
    if (progressToken !== this.#id) this.#violations++
    else if (!this.#options.intent.progress || ++this.#progressed > mostProgress) return
    else if (typeof progress === 'number') {
      const words = typeof message === 'string' ? message.slice(0, progressText).toWellFormed() : ''
      const isSafe = words !== '' && !holdsForm(Buffer.from(JSON.stringify(words)), target.forms)
      this.#options.progress({
        progress,
        ...(typeof total === 'number' ? { total } : {}),
        ...(isSafe ? { message: words } : {}),
      })
    }
  }

  /** The first end counts. */
  #end({ head, raw }: Outcome): void {
    const tookMs = this.#isSent
      ? Math.round(this.#options.upstream.clock.monotonic() - this.#sentAt)
      : undefined
    this.#settle({
      head: {
        ...head,
        ...(this.#status === undefined ? {} : { status: this.#status }),
        ...(this.#serverRequests > 0 ? { serverRequests: this.#serverRequests } : {}),
        ...(this.#violations > 0 ? { violations: this.#violations } : {}),
        ...(tookMs === undefined ? {} : { tookMs }),
      },
      ...(raw ? { raw } : {}),
    })
  }
}
