/** Does what an order says, once it was committed. */
import { type ErrorCode, toSallyportError } from '@sallyport/protocol'
import {
  type AnyIntent,
  digestBytes,
  type Intent,
  type OAuthIntent,
  type ProgressHead,
  type ResultHead,
  type WebhookIntent,
} from '@sallyport/protocol/node'
import type { Clock } from '../clock.ts'
import type { Dialer } from '../dialer/dialer.ts'
import type { ServerCache } from '../oauth/server-cache.ts'
import { ToolCall } from '../upstream/call-tool.ts'
import type { LateAnswers } from '../upstream/late-answers.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { KeyRing } from '../vault/key-ring.ts'
import type { Sealed, Target, Vault } from '../vault/vault.ts'
import { sendWebhook } from '../webhook/send-webhook.ts'
import type { Luggage } from './order.ts'
import { notSent, type Outcome } from './outcome.ts'
import { performVault } from './perform-vault.ts'

/** What the performer asks of the order it performs. */
export interface Performance {
  readonly intent: AnyIntent
  readonly luggage: Luggage
  /** The last word before the first byte. */
  pass(): ErrorCode | undefined
  progress(head: Omit<ProgressHead, 'intent'>): void
  /** After it was told as uncertain: the answer that came then. */
  late(head: Omit<ResultHead, 'intent'>): void
  /** The order can be asked to end from now on. */
  cancellable(cancel: () => void): void
}

export interface PerformerOptions {
  readonly ring: KeyRing
  readonly vault: Vault
  readonly upstreams: Upstreams
  readonly lateAnswers: LateAnswers
  readonly dialer: Dialer
  readonly clock: Clock
}

export class Performer {
  readonly #options: PerformerOptions
  #servers: ServerCache | undefined

  constructor(options: PerformerOptions) {
    this.#options = options
  }

  /** Never rejects: what goes wrong before the first byte is `not_sent` with a code. */
  async perform(performance: Performance): Promise<Outcome> {
    const outcome = await this.#attempt(performance)
    const { verdict, code } = outcome.head
    const isUnknownKey = verdict === 'not_sent' && code === 'seal_key_unknown'
    if (!isUnknownKey || !(await this.#options.ring.look())) return outcome
    return await this.#attempt(performance)
  }

  async #attempt(performance: Performance): Promise<Outcome> {
    const { intent } = performance
    try {
      switch (intent.act) {
        case 'call':
          return await this.#call(intent, performance)
        case 'list':
          return await this.#list(intent, performance)
        case 'close':
          return await this.#close(intent, performance)
        case 'webhook':
          return await this.#webhook(intent, performance)
        case 'oauth_begin':
        case 'oauth_finish':
        case 'oauth_refresh':
        case 'oauth_revoke':
          return await this.#oauth(intent, performance)
        case 'reseal':
        case 'keys':
        case 'rotate':
        case 'retire':
          return await performVault(intent, performance, this.#options)
      }
    } catch (thrown) {
      return notSent(toSallyportError(thrown).code)
    }
  }

  async #call(intent: Intent, performance: Performance): Promise<Outcome> {
    const { luggage } = performance
    const { target, sealed } = this.#open(intent, luggage)
    const expired = this.#expired(target)
    if (expired) return notSent(expired)
    const upstream = this.#options.upstreams.obtain(intent, sealed, target)
    upstream.enter()
    try {
      const problem = await upstream.verify(intent.access, intent.limits.verifyWithinMs)
      if (problem) return notSent(problem)
      const call = new ToolCall({
        upstream,
        contact: await upstream.contact(),
        target,
        intent,
        argumentsRaw: luggage.raw,
        pass: () => this.#expired(target) ?? performance.pass(),
        progress: (head) => performance.progress(head),
        lateAnswers: this.#options.lateAnswers,
        late: (head) => performance.late(head),
      })
      performance.cancellable(() => call.cancel())
      return await call.run()
    } finally {
      upstream.leave()
    }
  }

  /** Connects anew. The upstream in use is replaced only when that worked. */
  async #list(intent: Intent, performance: Performance): Promise<Outcome> {
    const { target, sealed } = this.#open(intent, performance.luggage)
    const expired = this.#expired(target)
    if (expired) return notSent(expired)
    const { upstreams } = this.#options
    const upstream = upstreams.create(intent, sealed, target)
    upstream.enter()
    try {
      const code = performance.pass()
      if (code) return notSent(code)
      const raw = await this.#listing(upstream)
      const head = { verdict: 'result', digest: digestBytes(raw), bytes: raw.length } as const
      if (raw.length > intent.limits.resultBytes)
        return { head: { ...head, code: 'result_too_large', withheld: 'too_large' } }
      upstreams.use(upstream)
      return { head, raw }
    } finally {
      upstream.leave()
      if (!upstreams.isInUse(upstream)) upstreams.retire(upstream)
    }
  }

  /** The gateway then asks for a new one: a server would say no more than that. */
  #expired({ expiresAt }: Target): ErrorCode | undefined {
    const isOver = expiresAt !== undefined && expiresAt <= this.#options.clock.now()
    return isOver ? 'credential_expired' : undefined
  }

  async #listing(upstream: Upstream): Promise<Buffer> {
    await upstream.contact()
    return Buffer.from(JSON.stringify(await upstream.catalog.refresh(upstream)))
  }

  async #close(intent: Intent, performance: Performance): Promise<Outcome> {
    const code = performance.pass()
    if (code) return notSent(code)
    await this.#options.upstreams.release(intent.connectionId)
    return { head: { verdict: 'result' } }
  }

  #webhook(intent: WebhookIntent, performance: Performance): Promise<Outcome> {
    const { vault, dialer, clock } = this.#options
    const { endpoint, raw: body } = performance.luggage
    const webhook = vault.openWebhook(intent, endpoint)
    return sendWebhook({ intent, webhook, body, dialer, clock, pass: () => performance.pass() })
  }

  async #oauth(intent: OAuthIntent, performance: Performance): Promise<Outcome> {
    // Loaded when somebody signs in first: most workers never do.
    const [{ performOAuth }, { ServerCache }] = await Promise.all([
      import('../oauth/perform-oauth.ts'),
      import('../oauth/server-cache.ts'),
    ])
    const { vault, dialer, clock } = this.#options
    this.#servers ??= new ServerCache(clock)
    const parts = { intent, luggage: performance.luggage, vault, dialer, servers: this.#servers }
    return await performOAuth({ ...parts, pass: () => performance.pass() })
  }

  #open(intent: Intent, luggage: Luggage): { readonly target: Target; readonly sealed: Sealed } {
    const sealed = { endpoint: luggage.endpoint, credential: luggage.credential }
    return { target: this.#options.vault.open(intent, sealed), sealed }
  }
}
