/** The hosts that a guest may reach beside its model: `name`, `*.name`, an address or a network, with `:port` for another than 443. */
import { isIP } from 'node:net'
import { SallyportError } from '@sallyport/protocol'
import {
  canonicalName,
  type HostPattern,
  isAt,
  isBlockedPort,
  isNamedBy,
  parseHostPattern,
} from '@sallyport/protocol/network'
import type { Place } from '../outlets/reach.ts'

interface AllowedHost {
  readonly pattern: HostPattern
  readonly port: number
}

export class AllowedHosts {
  readonly #hosts: readonly AllowedHost[]

  /** Throws `bad_host_rule` for one that cannot be understood. */
  constructor(rules: readonly string[]) {
    this.#hosts = rules.map(parse)
  }

  allows({ host, port }: Place): boolean {
    return this.#hosts.some(
      (one) => one.port === port && (isNamedBy(host, one.pattern) || isAt(host, one.pattern)),
    )
  }
}

/** Throws `bad_host_rule` for the first that cannot be understood. */
export function checkHostRules(rules: readonly string[]): void {
  rules.forEach(parse)
}

/** What follows CONNECT, `host:port`, as places are written; undefined for what is none. */
export function placeIn(authority: string): Place | undefined {
  const [, asked = '', digits = ''] = /^(\[[^\]]+\]|[^:]+):(\d{1,5})$/.exec(authority) ?? []
  const port = Number(digits)
  const bare = asked.replace(/^\[(.*)\]$/, '$1')
  const host = isIP(bare) > 0 ? addressIn(bare) : canonicalName(asked)
  return host === undefined || isBlockedPort(port) ? undefined : { host, port }
}

function addressIn(bare: string): string | undefined {
  const host = isIP(bare) === 6 ? `[${bare}]` : bare
  if (!URL.canParse(`https://${host}`)) return undefined
  return new URL(`https://${host}`).hostname.replace(/^\[(.*)\]$/, '$1')
}

function parse(rule: string): AllowedHost {
  const [, host = '', digits = '443'] =
    /^(\[[^\]]+\]|[^:]+|[^\]]*:.*:[^\]]*)(?::(\d{1,5}))?$/.exec(rule) ?? []
  const port = Number(digits)
  try {
    if (isBlockedPort(port)) throw new TypeError('a port of another service')
    return { pattern: parseHostPattern(host), port }
  } catch (cause) {
    throw new SallyportError('bad_host_rule', { field: rule, cause })
  }
}
