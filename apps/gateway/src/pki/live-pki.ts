/** The certificates of a gateway that runs: renewed long before they end, and shown from the next connection on. */
import type { Identity } from '../worker/dial.ts'
import type { Log } from '../worker/log.ts'
import { type Pki, renewLeaves } from './prepare-pki.ts'

export interface LivePkiOptions {
  readonly dataDir: string
  readonly pki: Pki
  readonly log: Pick<Log, 'info'>
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export class LivePki {
  readonly #options: LivePkiOptions
  #pki: Pki

  constructor(options: LivePkiOptions) {
    this.#options = options
    this.#pki = options.pki
  }

  readonly identity = (): Identity => {
    const { gateway, authorityPem } = this.#pki
    const { certificatePem, privateKeyPem } = gateway
    return { certificatePem, privateKeyPem, authorityPem }
  }

  /** When the first of them ends, in milliseconds since 1970. */
  readonly expiresAt = (): number => Math.min(...Object.values(this.#pki.expiresAt))

  /** To be called a few times a day. Rejects with `bad_certificate`, `data_not_writable`; what is in use stays. */
  async round(): Promise<void> {
    const { dataDir, now, log } = this.#options
    const before = this.#pki.expiresAt
    this.#pki = renewLeaves(dataDir, now())
    for (const who of ['gateway', 'worker'] as const)
      if (this.#pki.expiresAt[who] !== before[who])
        log.info({ of: who, until: this.#pki.expiresAt[who] }, 'certificate renewed')
  }
}
