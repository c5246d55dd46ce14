/**
 * `tools/call`, written once, on one connection: never repeated, never redirected, never validated after the effect. A
 * write that has no answer in time is told as uncertain and read on for a while.
 */
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import {
  frameLimit,
  type Intent,
  type ProgressHead,
  type ResultHead,
} from '@sallyport/protocol/node'
import { AnswerReader } from '../http/answer-reader.ts'
import { Exchange, type Listener, type ResponseHeaders } from '../http/exchange.ts'
import type { Message } from '../http/message-reader.ts'
import { type Challenge, readChallenge } from '../oauth/challenge.ts'
import { notSent, type Outcome } from '../orders/outcome.ts'
import { holdsForm } from '../vault/leak-forms.ts'
import type { Target } from '../vault/vault.ts'
import { outcomeOfAnswer, refusedWith } from './call-verdict.ts'
import type { Contact } from './contact.ts'
import { contentBytes } from './cut-result.ts'
import type { LateAnswers } from './late-answers.ts'
import { composeCall, nextId } from './requests.ts'
import { ServerTalk } from './server-talk.ts'
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
  readonly lateAnswers: LateAnswers
  /** Once at most: the known answer to a write that was told as uncertain. */
  readonly late: (head: Omit<ResultHead, 'intent'>) => void
}

/** A write does not use a connection the server may be closing; what is lost there would be unknown. */
const writeIdleMs = 1_000
const readIdleMs = 20_000
/** Enough to see why a request was refused; what comes after it is read and forgotten, within a bound. */
const refusalBytes = 65_536
const mostRefusalBytes = 8 * 1024 * 1024
/** A stream may go on after the answer; it gets as long to end by itself, so that its connection can be kept. */
const lingerMs = 1_000
/** What may come of an answer after its time; nobody reads it but for its digest. */
const mostLateBytes = 1024 * 1024
/** A result travels in one frame. */
const mostResultBytes = frameLimit - 65_536

export class ToolCall implements Listener {
  readonly #options: ToolCallOptions
  readonly #id = nextId()
  readonly #exchange: Exchange
  readonly #reader: AnswerReader
  readonly #talk: ServerTalk
  #isSent = false
  #sentAt = 0
  #status: number | undefined
  #challenge: Challenge = {}
  #refusal = ''
  #refusalBytes = 0
  #settle: (outcome: Outcome) => void = () => {}
  #isTold = false
  /** Its verdict was told when its time was over, and a known answer would be news. */
  #isLate = false
  #lateBytes = 0
  #setAside: () => void = () => {}

  constructor(options: ToolCallOptions) {
    this.#options = options
    const { upstream, contact, target, intent, argumentsRaw, progress } = options
    this.#talk = new ServerTalk({
      upstream,
      contact,
      target,
      id: this.#id,
      progress: (head) => {
        if (intent.progress && !this.#isTold) progress(head)
      },
    })
    this.#reader = new AnswerReader({
      id: this.#id,
      keptBytes: this.#limit,
      ...(intent.cut ? { contentBytes: contentBytes(this.#limit, target.forms) } : {}),
      answered: (message) => this.#answered(message),
      said: (message) => this.#talk.hear(message),
    })
    const tool = intent.tool as string
    this.#exchange = new Exchange({
      request: composeCall(target, contact, { id: this.#id, intent, tool, argumentsRaw }),
      listener: this,
      clock: upstream.clock,
      totalMs: intent.limits.callMs,
      overdue: () => this.#overdue(),
    })
  }

  /** Bytes of a result that are passed on. */
  get #limit(): number {
    return Math.min(this.#options.intent.limits.resultBytes, mostResultBytes)
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
    upstream.connections.run(idleMs, (connection, done, aside) => {
      this.#setAside = aside
      this.#exchange.start(connection, done)
    })
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
    if (status === 403) this.#challenge = readChallenge([headers['www-authenticate']].flat().join())
    if (status >= 500) throw new SallyportError('upstream_http_5xx')
    if (status < 300) this.#reader.head(headers)
  }

  data(chunk: Buffer): void {
    if (this.#isLate) this.#lateBytes += chunk.length
    if (this.#lateBytes > mostLateBytes) throw new SallyportError('upstream_too_large')
    if ((this.#status ?? 0) < 300) {
      this.#reader.data(chunk)
      return
    }
    this.#refusalBytes += chunk.length
    if (this.#refusalBytes > mostRefusalBytes) throw new SallyportError('upstream_too_large')
    if (this.#refusal.length < refusalBytes) this.#refusal += chunk.toString('latin1')
  }

  /** Of a read nobody wants to know any more: it may be asked again. */
  #overdue(): void {
    const { intent, lateAnswers } = this.#options
    const giveUp = () => this.#exchange.stop('upstream_timeout')
    if (intent.access === 'read' || this.#isTold) {
      giveUp()
      return
    }
    this.#end({ head: { verdict: 'uncertain', code: 'upstream_timeout' } })
    this.#isLate = true
    this.#setAside()
    const end = lateAnswers.wait(giveUp)
    this.#exchange.ended.then(end, end)
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
    const requiredScope = code === 'upstream_forbidden' ? this.#wanted() : undefined
    const told =
      requiredScope === undefined
        ? { code }
        : { code: 'upstream_scope_missing' as const, requiredScope }
    this.#end({ head: { verdict: 'result', ...told } })
  }

  /** The scopes it wants more; a server that says the credential there is not quoted. */
  #wanted(): string | undefined {
    const { error, scope } = this.#challenge
    if (error !== 'insufficient_scope' || scope === undefined) return undefined
    return holdsForm(Buffer.from(scope), this.#options.target.forms) ? undefined : scope
  }

  #failed({ code }: SallyportError): void {
    this.#end(this.#isSent ? { head: { verdict: 'uncertain', code } } : notSent(code))
  }

  #answered(message: Message): void {
    const { contact, target, upstream, intent } = this.#options
    const cutting = intent.cut ? { limit: this.#limit, intent } : undefined
    this.#end(outcomeOfAnswer(message, { contact, forms: target.forms, cutting }))
    if (this.#reader.isStream) {
      const cancel = upstream.clock.after(lingerMs, () => this.#exchange.stop('upstream_timeout'))
      this.#exchange.ended.finally(cancel).catch(() => {})
    }
  }

  /** The first end counts; of a late one, only the answer that is known then. */
  #end({ head, raw }: Outcome): void {
    const whole = this.#whole(head)
    if (!this.#isTold) {
      this.#isTold = true
      this.#settle({ head: whole, ...(raw ? { raw } : {}) })
    } else if (this.#isLate && head.verdict === 'result') {
      this.#isLate = false
      this.#options.late(whole)
    }
  }

  #whole(head: Outcome['head']): Outcome['head'] {
    const tookMs = this.#isSent
      ? Math.round(this.#options.upstream.clock.monotonic() - this.#sentAt)
      : undefined
    return {
      ...head,
      ...(this.#status === undefined ? {} : { status: this.#status }),
      ...this.#talk.counts,
      ...(tookMs === undefined ? {} : { tookMs }),
    }
  }
}
