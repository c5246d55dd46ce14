/** Everything that opens seals and reaches upstreams. Loaded when the first order needs it: a worker that waits is small. */
import type { ObservedHead, VaultKey } from '@sallyport/protocol/node'
import type { Clock } from './clock.ts'
import { Dialer, type OwnListeners } from './dialer/dialer.ts'
import type { Outcome } from './orders/outcome.ts'
import { type Performance, Performer } from './orders/perform.ts'
import { Upstreams } from './upstream/upstreams.ts'
import { Vault } from './vault/vault.ts'

export interface EngineOptions {
  readonly vaultKeys: readonly VaultKey[]
  readonly localAllowed: boolean
  readonly authorities: readonly string[] | undefined
  readonly ownListeners: OwnListeners
  readonly clock: Clock
  readonly observed: (head: ObservedHead) => void
}

export class Engine {
  readonly #vault: Vault
  readonly #upstreams: Upstreams
  readonly #performer: Performer

  constructor(options: EngineOptions) {
    const { vaultKeys, localAllowed, authorities, ownListeners, clock, observed } = options
    const vault = new Vault({ keys: vaultKeys, localAllowed, monotonic: clock.monotonic })
    const dialer = new Dialer({
      localAllowed,
      ownListeners,
      clock,
      ...(authorities ? { authorities } : {}),
    })
    this.#vault = vault
    this.#upstreams = new Upstreams({ vault, dialer, clock, observed })
    this.#performer = new Performer({ vault, upstreams: this.#upstreams, clock })
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
    return this.#upstreams.close()
  }
}
