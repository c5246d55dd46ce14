/** Asks authorization servers to revoke grants that ended here, while nobody waits for what they say. */
import { type RevocationDeps, revokeAtProvider } from './disconnect.ts'
import type { EndedGrant } from './ended-grant.ts'
import { isStoodOn } from './is-stood-on.ts'

export interface RevokerDeps extends RevocationDeps {
  readonly report: (error: unknown, where: string) => void
}

/** A server that does not answer holds up an order for half a minute, and no call. */
const atOnce = 4

export class Revoker {
  readonly #deps: RevokerDeps
  readonly #waiting: EndedGrant[] = []
  #asking = 0

  constructor(deps: RevokerDeps) {
    this.#deps = deps
  }

  /** Each is asked for once, unless it may be in use by then; the journal tells what came of it. */
  revoke(grants: readonly EndedGrant[]): void {
    this.#waiting.push(...grants)
    while (this.#asking < atOnce) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#asking++
      void this.#ask(next)
    }
  }

  async #ask(ended: EndedGrant): Promise<void> {
    try {
      if (await this.#deps.journal.transact((tx) => isStoodOn(tx, ended), { flush: 'later' }))
        return
      await revokeAtProvider(this.#deps, ended.connection, ended.credential)
    } catch (thrown) {
      this.#deps.report(thrown, 'revocation')
    } finally {
      this.#asking--
      this.revoke([])
    }
  }
}
