/** Does what an order says, once it was committed. */
import { type ErrorCode, toSallyportError } from '@sallyport/protocol'
import { digestBytes, type Intent, type ProgressHead } from '@sallyport/protocol/node'
import type { Clock } from '../clock.ts'
import { ToolCall } from '../upstream/call-tool.ts'
import type { Upstream } from '../upstream/upstream.ts'
import type { Upstreams } from '../upstream/upstreams.ts'
import type { Sealed, Target, Vault } from '../vault/vault.ts'
import type { Luggage } from './order.ts'
import { notSent, type Outcome } from './outcome.ts'

/** What the performer asks of the order it performs. */
export interface Performance {
  readonly intent: Intent
  readonly luggage: Luggage
  /** The last word before the first byte. */
  pass(): ErrorCode | undefined
  progress(head: Omit<ProgressHead, 'intent'>): void
  /** The order can be asked to end from now on. */
  cancellable(cancel: () => void): void
}

export interface PerformerOptions {
  readonly vault: Vault
  readonly upstreams: Upstreams
  readonly clock: Clock
}

export class Performer {
  readonly #options: PerformerOptions

  constructor(options: PerformerOptions) {
    this.#options = options
  }

  /** Never rejects: what goes wrong before the first byte is `not_sent` with a code. */
  async perform(performance: Performance): Promise<Outcome> {
    try {
      switch (performance.intent.act) {
        case 'call':
          return await this.#call(performance)
        case 'list':
          return await this.#list(performance)
        case 'close':
          return await this.#close(performance)
      }
    } catch (thrown) {
      return notSent(toSallyportError(thrown).code)
    }
  }

  async #call(performance: Performance): Promise<Outcome> {
    const { intent, luggage } = performance
    const { target, sealed } = this.#open(performance)
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
        pass: () => performance.pass(),
        progress: (head) => performance.progress(head),
      })
      performance.cancellable(() => call.cancel())
      return await call.run()
    } finally {
      upstream.leave()
    }
  }

  /** Connects anew. The upstream in use is replaced only when that worked. */
  async #list(performance: Performance): Promise<Outcome> {
    const { intent } = performance
    const { target, sealed } = this.#open(performance)
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

  async #listing(upstream: Upstream): Promise<Buffer> {
    await upstream.contact()
    return Buffer.from(JSON.stringify(await upstream.catalog.refresh(upstream)))
  }

  async #close(performance: Performance): Promise<Outcome> {
    const code = performance.pass()
    if (code) return notSent(code)
    await this.#options.upstreams.release(performance.intent.connectionId)
    return { head: { verdict: 'result' } }
  }

  #open({ intent, luggage }: Performance): { readonly target: Target; readonly sealed: Sealed } {
    const sealed = { endpoint: luggage.endpoint, credential: luggage.credential }
    return { target: this.#options.vault.open(intent, sealed), sealed }
  }
}
