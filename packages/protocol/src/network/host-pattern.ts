/** Rules that name hosts: `name`, `*.name` (every name under it, not itself), an address or a network. */
import { isIP } from 'node:net'
import { isWithin, type Network, parseNetwork } from './address.ts'

export type HostPattern =
  | { readonly name: string; readonly isUnder: boolean }
  | { readonly network: Network }

/** Throws TypeError, with the text, for one that cannot be understood. */
export function parseHostPattern(text: string): HostPattern {
  const network = parseNetwork(text.replace(/^\[(.*)\]$/, '$1'))
  if (network) return { network }
  const isUnder = text.startsWith('*.')
  const name = canonicalName(isUnder ? text.slice(2) : text)
  if (name === undefined)
    throw new TypeError(`neither a name nor an address nor a network: ${text}`)
  return { name, isUnder }
}

/** `host`: a name as `canonicalName` has it. */
export function isNamedBy(host: string, pattern: HostPattern): boolean {
  if ('network' in pattern) return false
  return pattern.isUnder ? host.endsWith(`.${pattern.name}`) : host === pattern.name
}

export function isAt(address: string, pattern: HostPattern): boolean {
  return 'network' in pattern && isWithin(address, pattern.network)
}

/** Labels of letters, digits, `-` and `_`, none of them empty. */
export function isName(text: string): boolean {
  return /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/.test(text) && isIP(text) === 0
}

/** As names are compared: in lower case, in ASCII, without the last dot. Undefined for what is no name. */
export function canonicalName(text: string): string | undefined {
  if (/[\s/:?#@\\[\]%*]/.test(text) || !URL.canParse(`https://${text}`)) return undefined
  const name = new URL(`https://${text}`).hostname.replace(/\.$/, '')
  return isName(name) ? name : undefined
}
