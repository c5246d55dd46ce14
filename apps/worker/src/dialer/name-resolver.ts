/**
 * Addresses of names. Asks the name servers of the system itself: the system's own resolver (`getaddrinfo`) answers
 * four questions at once and each until it gives up, so a few names that are never answered would hold up all others.
 */
import { Resolver } from 'node:dns/promises'
import { SallyportError } from '@sallyport/protocol'
import type { Clock } from '../clock.ts'
import { HostsFile } from './hosts-file.ts'

export interface NameResolverOptions {
  readonly clock: Pick<Clock, 'after'>
  /** `address` or `address:port`; those of the system when not given. */
  readonly nameServers?: readonly string[]
  readonly hostsFile?: HostsFile
}

/** One question to one server, before it is repeated. */
const questionMs = 1_500
/** What a server that knows one family may take for the other: some never answer for the one they do not have. */
const graceMs = 1_000

export class NameResolver {
  readonly #options: NameResolverOptions
  readonly #hostsFile: HostsFile

  constructor(options: NameResolverOptions) {
    this.#options = options
    this.#hostsFile = options.hostsFile ?? new HostsFile()
  }

  /** Every address, families in turn. Rejects with `upstream_dns` when there is none, or none within `ms`. */
  async resolve(name: string, ms: number): Promise<readonly string[]> {
    const written = await this.#hostsFile.addressesOf(name)
    const found = written.length > 0 ? written : await this.#ask(name, ms)
    if (found.length === 0) throw new SallyportError('upstream_dns')
    return found
  }

  async #ask(name: string, ms: number): Promise<readonly string[]> {
    const { clock, nameServers } = this.#options
    // A new one each time knows the servers of the network this machine is in now.
    const resolver = new Resolver({ timeout: questionMs, tries: 3 })
    if (nameServers) resolver.setServers(nameServers)
    const timers = [clock.after(ms, () => resolver.cancel())]
    const heard = (addresses: readonly string[]) => {
      if (addresses.length > 0) timers.push(clock.after(graceMs, () => resolver.cancel()))
      return addresses
    }
    const none = () => []
    try {
      return inTurn(
        await Promise.all([
          resolver.resolve4(name).then(heard, none),
          resolver.resolve6(name).then(heard, none),
        ]),
      )
    } finally {
      for (const cancel of timers) cancel()
    }
  }
}

/** So that the first few hold both families: a machine may have one of them only. */
function inTurn([four, six]: [readonly string[], readonly string[]]): string[] {
  const length = Math.max(four.length, six.length)
  const pairs = Array.from({ length }, (_, index) => [four[index], six[index]])
  return pairs.flat().filter((address) => address !== undefined)
}
