/** Everything that opens seals and reaches upstreams. Loaded when the first order needs it: a worker that waits is small. */
import type { ObservedHead } from '@sallyport/protocol/node'
import type { Clock } from './clock.ts'
import { Dialer } from './dialer/dialer.ts'
import type { EgressPolicy } from './dialer/egress-policy.ts'
import type { EgressProxy } from './dialer/egress-proxy.ts'
import type { OwnListeners } from './dialer/judge.ts'
import type { Outcome } from './orders/outcome.ts'
import { type Performance, Performer } from './orders/perform.ts'
import { LateAnswers } from './upstream/late-answers.ts'
import { Upstreams } from './upstream/upstreams.ts'
import type { KeyRing } from './vault/key-ring.ts'
import { Vault } from './vault/vault.ts'

export interface EngineOptions {
  readonly ring: KeyRing
  readonly localAllowed: boolean
  readonly authorities: readonly string[] | undefined
  readonly policy?: EgressPolicy | undefined
  readonly proxy?: EgressProxy | undefined
  readonly ownListeners: OwnListeners
  readonly clock: Clock
  readonly observed: (head: ObservedHead) => void
}

export class Engine {
  readonly #vault: Vault
  readonly #upstreams: Upstreams
  readonly #lateAnswers: LateAnswers
  readonly #performer: Performer

  constructor(options: EngineOptions) {
    const { ring, localAllowed, authorities, policy, proxy } = options
    const { ownListeners, clock, observed } = options
    const vault = new Vault({ ring, localAllowed, monotonic: clock.monotonic })
    const dialer = new Dialer({ localAllowed, authorities, policy, proxy, ownListeners, clock })
    // What was opened with one key is not kept beyond it.
    ring.onChange(() => vault.clear())
    this.#vault = vault
    this.#upstreams = new Upstreams({ vault, dialer, clock, observed })
    this.#lateAnswers = new LateAnswers(clock)
    this.#performer = new Performer({
      ring,
      vault,
      upstreams: this.#upstreams,
      lateAnswers: this.#lateAnswers,
      dialer,
      clock,
    })
  }

  perform(performance: Performance): Promise<Outcome> {
    return this.#performer.perform(performance)
  }

  /** The connection is no longer needed. Resolves when its session has ended. */
  release(connectionId: string): Promise<void> {
    return this.#upstreams.release(connectionId)
  }

  /** Called every second. */
  sweep(): void {
    this.#vault.sweep()
    this.#upstreams.sweep()
  }

  /** Resolves when the session of every upstream has ended. */
  close(): Promise<void> {
    this.#lateAnswers.close()
    return this.#upstreams.close()
  }
}
