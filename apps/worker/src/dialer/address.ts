/** Which addresses may be connected to. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Addresses that look like the public internet and are not: a cloud's own service, protocol assignments, and forms
 * that carry another address inside (NAT64, 6to4, Teredo, mapped, compatible). Those are refused, not unwrapped: no
 * server of the public internet answers with one.
 */
const further = [
  '168.63.129.16/32',
  '192.0.0.0/24',
  '192.88.99.0/24',
  '198.18.0.0/15',
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fec0::/10',
].map((range) => ipaddr.parseCIDR(range))
const globalUnicast = ipaddr.parseCIDR('2000::/3')

/** True only for an address of the public internet, written as an address. */
export function isPublicAddress(text: string): boolean {
  const address = parse(text)
  if (address?.range() !== 'unicast') return false
  if (address.kind() === 'ipv6' && !address.match(globalUnicast)) return false
  return !further.some((range) => range[0].kind() === address.kind() && address.match(range))
}

/** `127.0.0.0/8` and `::1`, in these forms only. */
export function isLoopbackAddress(text: string): boolean {
  return parse(text)?.range() === 'loopback'
}

export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [parse(one), parse(other)]
  return first !== undefined && first.toNormalizedString() === second?.toNormalizedString()
}

/** A zone (`%eth0`) names a link of this machine, which is never the public internet. */
function parse(text: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text)
}
