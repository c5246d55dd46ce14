/** Says which destinations may be reached: by their name, by each address behind it, and by whom. */
import { addressKind, isBlockedPort, isSameAddress } from '@sallyport/protocol/network'
import { blocked, type Destination, hostOf } from './destination.ts'
import type { EgressPolicy } from './egress-policy.ts'
import { isSpecialName } from './special-names.ts'

/** By gateway: where it listens itself. */
export type OwnListeners = ReadonlyMap<
  string,
  readonly { readonly host: string; readonly port: number }[]
>

export interface JudgeOptions {
  readonly localAllowed: boolean
  readonly policy: EgressPolicy
  readonly ownListeners: OwnListeners
}

export class Judge {
  readonly #options: JudgeOptions

  constructor(options: JudgeOptions) {
    this.#options = options
  }

  /** Before anything is asked of anybody. The host without brackets. Throws `upstream_blocked_address`. */
  admit(destination: Destination): string {
    const host = hostOf(destination)
    const isDenied = this.#options.policy.deniesName(host)
    if (isDenied || isBlockedPort(destination.port)) throw blocked()
    return host
  }

  /**
   * `near`: this machine, or a private network that is open to whoever asks. `far`: the public internet. Throws
   * `upstream_blocked_address` for anything else.
   */
  address(destination: Destination, host: string, address: string): 'near' | 'far' {
    const { scheme, port, subject } = destination
    const { policy, localAllowed } = this.#options
    const kind = addressKind(address)
    if (this.#isOwnListener(address, port) || !policy.allowsAddress(host, address)) throw blocked()
    if (kind === 'loopback' && localAllowed) return 'near'
    if (scheme !== 'https') throw blocked()
    if (kind === 'public') return 'far'
    if (kind === 'private' && policy.allowsPrivate(subject, address)) return 'near'
    throw blocked()
  }

  /** A name that is resolved elsewhere, where its address is not judged. Throws `upstream_blocked_address`. */
  unseen({ scheme }: Destination, host: string, isResolved: boolean): void {
    const isAllowed = isResolved || this.#options.policy.allowsName(host)
    if (scheme !== 'https' || isSpecialName(host) || !isAllowed) throw blocked()
  }

  /** A listener on every address is also on each one of this machine. */
  #isOwnListener(address: string, port: number): boolean {
    const listeners = [...this.#options.ownListeners.values()].flat()
    return listeners.some(
      (one) =>
        one.port === port &&
        (addressKind(address) === 'loopback' || isSameAddress(one.host, address)),
    )
  }
}
