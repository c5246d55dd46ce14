/** What the operator says about where the worker may go, beyond what is never allowed. */
import { isId } from '@sallyport/protocol'
import {
  type HostPattern,
  isAt,
  isNamedBy,
  isPrivateNetwork,
  isWithin,
  type Network,
  parseHostPattern,
  parseNetwork,
} from '@sallyport/protocol/network'

export interface EgressRules {
  /** Never reached: `name`, `*.name` (every name under it), an address or a network. */
  readonly deny?: readonly string[] | undefined
  /** When there are any, nothing else is reached. Of the same forms. */
  readonly allow?: readonly string[] | undefined
  /** `id=network`: the connection or webhook of that id may reach that private network. */
  readonly allowPrivate?: readonly string[] | undefined
}

interface Allowance {
  readonly subject: string
  readonly network: Network
}

export class EgressPolicy {
  readonly #deny: readonly HostPattern[]
  readonly #allow: readonly HostPattern[]
  readonly #allowances: readonly Allowance[]

  /** Throws TypeError, naming the rule, for one that cannot be understood. */
  constructor(rules: EgressRules = {}) {
    this.#deny = (rules.deny ?? []).map(parseHostPattern)
    this.#allow = (rules.allow ?? []).map(parseHostPattern)
    this.#allowances = (rules.allowPrivate ?? []).map(parseAllowance)
  }

  /** Judged before a name is asked for; its addresses are judged when they are known. */
  deniesName(host: string): boolean {
    return this.#deny.some((pattern) => isNamedBy(host, pattern))
  }

  /** Of a name whose address is not known here. */
  allowsName(host: string): boolean {
    if (this.deniesName(host)) return false
    return this.#allow.length === 0 || this.#allow.some((pattern) => isNamedBy(host, pattern))
  }

  /** `host`: the name that led to the address, or the address itself. Denied beats allowed. */
  allowsAddress(host: string, address: string): boolean {
    if (this.deniesName(host) || this.#deny.some((pattern) => isAt(address, pattern))) return false
    return this.allowsName(host) || this.#allow.some((pattern) => isAt(address, pattern))
  }

  allowsPrivate(subject: string | undefined, address: string): boolean {
    return this.#allowances.some((one) => one.subject === subject && isWithin(address, one.network))
  }
}

function parseAllowance(text: string): Allowance {
  const [subject = '', range = '', ...more] = text.split('=')
  const network = parseNetwork(range)
  const isSubject = isId('connection', subject) || isId('webhook', subject)
  if (!isSubject || !network || more.length > 0)
    throw new TypeError(`not the id of a connection or webhook, "=" and a network: ${text}`)
  if (!isPrivateNetwork(network)) throw new TypeError(`no private network: ${text}`)
  return { subject, network }
}
