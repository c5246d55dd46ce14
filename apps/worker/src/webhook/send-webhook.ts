/**
 * One attempt to deliver a webhook: signed here, written once, never redirected. Whether there is another attempt is the
 * gateway's to say; the receiver knows an event again by its id.
 */
import { isUtf8 } from 'node:buffer'
import { type ErrorCode, SallyportError, toSallyportError } from '@sallyport/protocol'
import { type WebhookIntent, webhookBytes, webhookMs } from '@sallyport/protocol/node'
import type { Clock } from '../clock.ts'
import type { Dialer } from '../dialer/dialer.ts'
import { Connections } from '../http/connections.ts'
import { Exchange, type Listener } from '../http/exchange.ts'
import { notSent, type Outcome } from '../orders/outcome.ts'
import type { OpenedWebhook } from '../vault/read-webhook.ts'
import { webhookHeaders } from './sign-webhook.ts'

export interface WebhookOptions {
  readonly intent: WebhookIntent
  readonly webhook: OpenedWebhook
  readonly body: Buffer
  readonly dialer: Pick<Dialer, 'connect'>
  readonly clock: Clock
  /** The last word before the first byte; a code keeps it from leaving. */
  readonly pass: () => ErrorCode | undefined
}

/** Nobody reads what the receiver says beside its status. */
const answerBytes = 65_536

/** Resolves with what became of it. Rejects with `too_large`, `bad_request` before anything is sent. */
export async function sendWebhook(options: WebhookOptions): Promise<Outcome> {
  const { intent, webhook, body, dialer, clock } = options
  checkBody(body)
  const connection = new Connections({
    origin: webhook,
    subject: intent.webhookId,
    dialer,
    clock,
  }).single()
  const attempt = new Attempt(options)
  const seconds = Math.floor(clock.now() / 1_000)
  const headers = webhookHeaders(intent.eventId, seconds, body, webhook.key)
  const sent = new Exchange({
    request: { method: 'POST', path: webhook.path, headers, body },
    listener: attempt,
    clock,
    totalMs: webhookMs,
    anyEncoding: true,
  })
  try {
    sent.start(connection, () => {})
    await sent.ended
    return attempt.outcome('upstream_protocol')
  } catch (thrown) {
    return attempt.outcome(toSallyportError(thrown).code)
  } finally {
    void connection.destroy()
  }
}

class Attempt implements Listener {
  readonly #options: WebhookOptions
  #sentAt: number | undefined
  #status: number | undefined
  #bytes = 0

  constructor(options: WebhookOptions) {
    this.#options = options
  }

  before(): void {
    const code = this.#options.pass()
    if (code) throw new SallyportError(code)
    this.#sentAt = this.#options.clock.monotonic()
  }

  head(status: number): void {
    this.#status = status
  }

  data(chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > answerBytes) throw new SallyportError('upstream_too_large')
  }

  /** A status is an answer, whatever becomes of the body behind it. `failure`: why there is none. */
  outcome(failure: ErrorCode): Outcome {
    if (this.#sentAt === undefined) return notSent(failure)
    const tookMs = Math.round(this.#options.clock.monotonic() - this.#sentAt)
    const status = this.#status
    if (status === undefined) return { head: { verdict: 'uncertain', code: failure, tookMs } }
    return { head: { ...verdictOf(status), status, tookMs } }
  }
}

/** Uncertain: it may be tried again. A redirect is no place that was sealed, so it is a refusal. */
function verdictOf(status: number): Pick<Outcome['head'], 'verdict' | 'code'> {
  if (status >= 500) return { verdict: 'uncertain', code: 'upstream_http_5xx' }
  if (status === 429) return { verdict: 'uncertain', code: 'upstream_rate_limited' }
  return status < 300 ? { verdict: 'result' } : { verdict: 'result', code: 'webhook_refused' }
}

function checkBody(body: Buffer): void {
  if (body.length > webhookBytes) throw new SallyportError('too_large')
  try {
    if (!isUtf8(body)) throw new TypeError('not UTF-8')
    JSON.parse(body.toString())
  } catch (cause) {
    throw new SallyportError('bad_request', { cause })
  }
}
