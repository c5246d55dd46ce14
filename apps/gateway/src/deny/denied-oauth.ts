/** Sign-ins whose places are denied to every guest before the credential that names them becomes active. */
import {
  coversAll,
  entryOf,
  type OAuthTarget,
  type OAuthWorker,
  type Revoker,
  type Store,
  unusedGrant,
} from '@sallyport/core'
import { type ConnectionId, type Origin, SallyportError } from '@sallyport/protocol'
import type { OAuthBegin, OAuthFinish, OAuthGranted } from '@sallyport/protocol/node'
import type { DenyDesk } from './deny-desk.ts'

type SignIns = Pick<OAuthWorker, 'begin' | 'finish' | 'revoke'>

export interface DeniedOAuthDeps {
  readonly worker: SignIns
  readonly store: Store
  readonly denySets: Pick<DenyDesk, 'changed' | 'settle'>
  readonly revoker: Pick<Revoker, 'revoke'>
  readonly now: () => number
}

export class DeniedOAuth implements SignIns {
  readonly #deps: DeniedOAuthDeps

  constructor(deps: DeniedOAuthDeps) {
    this.#deps = deps
  }

  /** As the worker's, and `deny_set_pending` for client credentials, which are active at once. */
  async begin(target: OAuthTarget, request: OAuthBegin) {
    const answer = await this.#deps.worker.begin(target, request)
    if (answer.kind === 'granted') return this.#denied(target, answer)
    // A person needs longer to sign in than this to come into force.
    await this.#note(target.connection.id, answer.places)
    return answer
  }

  /** As the worker's, and `deny_set_pending`: then the person signs in again. */
  async finish(target: OAuthTarget, request: OAuthFinish) {
    return this.#denied(target, await this.#deps.worker.finish(target, request))
  }

  /** What is taken back leads nowhere new. */
  revoke(...asked: Parameters<SignIns['revoke']>) {
    return this.#deps.worker.revoke(...asked)
  }

  /** What was given and must not be used is revoked where it was given, unless that may end what is in use. */
  async #denied(target: OAuthTarget, granted: OAuthGranted): Promise<OAuthGranted> {
    try {
      await this.#deny(target.connection.id, granted.places)
      return granted
    } catch (thrown) {
      const { revoker, now } = this.#deps
      revoker.revoke([unusedGrant(target, granted, now())])
      throw thrown
    }
  }

  async #deny(id: ConnectionId, places: readonly Origin[]): Promise<void> {
    const { store, denySets } = this.#deps
    const wanted = places.map(entryOf)
    if (coversAll(await store.denials.published(), wanted)) return
    await this.#note(id, places)
    await denySets.settle()
    if (!coversAll(await store.denials.published(), wanted))
      throw new SallyportError('deny_set_pending')
  }

  /** Beside those of before: until the sign-in is over both may be in use. */
  async #note(id: ConnectionId, places: readonly Origin[]): Promise<void> {
    await this.#deps.store.transact(async (tx) => {
      await tx.lockForChange({ connections: [id] })
      const oauth = await tx.oauth.connection(id)
      if (!oauth) return
      const all = new Map([...oauth.places, ...places].map((one) => [JSON.stringify(one), one]))
      await tx.oauth.putConnection({ ...oauth, places: [...all.values()] })
    })
    this.#deps.denySets.changed()
  }
}
