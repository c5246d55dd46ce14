/** What is asked of the worker about the keys of the vault, over the link. What comes back never opens anything. */
import type { StoredSeal } from '@sallyport/core'
import { SallyportError } from '@sallyport/protocol'
import {
  type AnyIntent,
  digestBytes,
  maxStartWithin,
  type VaultState,
} from '@sallyport/protocol/node'
import type { VaultPort } from '../vault/vault-port.ts'
import type { DirectAnswer } from './direct-orders.ts'
import type { WorkerLink } from './link.ts'
import { type OrderClaimsDeps, orderClaims, orderOf } from './order-claims.ts'

export interface LinkedVaultOptions extends OrderClaimsDeps {
  readonly link: Pick<WorkerLink, 'instance' | 'vault' | 'order'>
}

/** Its source may be a program that takes its time. */
const answerMs = maxStartWithin + 30_000

export class LinkedVault implements VaultPort {
  readonly #options: LinkedVaultOptions

  constructor(options: LinkedVaultOptions) {
    this.#options = options
  }

  state(): VaultState | undefined {
    return this.#options.link.vault()
  }

  read(): Promise<VaultState> {
    return this.#tend({ ...orderClaims(this.#options), act: 'keys' })
  }

  rotate(): Promise<VaultState> {
    return this.#tend({ ...orderClaims(this.#options), act: 'rotate' })
  }

  retire(kid: string): Promise<VaultState> {
    return this.#tend({ ...orderClaims(this.#options), act: 'retire', kid })
  }

  async reseal({ place, seal }: StoredSeal, toKid: string): Promise<string> {
    const { kind, id: rowId, scope, version } = place
    const what = { kind, rowId, scope, version, toKid, argumentsDigest: digestBytes(seal) }
    const answer = await this.#ask({ ...orderClaims(this.#options), act: 'reseal', ...what }, seal)
    return answer.raw.toString()
  }

  async #tend(intent: AnyIntent): Promise<VaultState> {
    return JSON.parse((await this.#ask(intent, '')).raw.toString())
  }

  async #ask(intent: AnyIntent, text: string): Promise<DirectAnswer> {
    const order = orderOf(intent, undefined, undefined, text)
    const answer = await this.#options.link.order(order, answerMs)
    const { code, verdict } = answer.head
    if (code !== undefined) throw new SallyportError(code)
    if (verdict !== 'result') throw new SallyportError('not_sent')
    return answer
  }
}
