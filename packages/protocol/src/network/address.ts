/** What an address is, from its digits alone. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { globalUnicast, type SpecialKind, specialRanges } from './special-ranges.ts'

type Address = ipaddr.IPv4 | ipaddr.IPv6

/** A range of addresses. */
export interface Network {
  readonly first: Address
  readonly prefix: number
}

export type AddressKind = 'public' | SpecialKind

/** Narrowest first. */
const special = specialRanges
  .map(({ range, kind }) => ({ kind, network: known(range) }))
  .sort((one, other) => other.network.prefix - one.network.prefix)
const everyPublic6 = known(globalUnicast)

/** `never` for what is no address, and for what names a link of this machine (`fe80::1%eth0`). */
export function addressKind(text: string): AddressKind {
  const address = parse(text)
  if (!address) return 'never'
  const found = special.find(({ network }) => matches(address, network))
  if (found) return found.kind
  if (address.kind() === 'ipv4') return 'public'
  return matches(address, everyPublic6) && !isOfIsatap(address) ? 'public' : 'never'
}

export function isSameAddress(one: string, other: string): boolean {
  const [first, second] = [parse(one), parse(other)]
  return first !== undefined && first.toNormalizedString() === second?.toNormalizedString()
}

/** An address with or without `/prefix`; undefined for anything else, and for bits behind the prefix. */
export function parseNetwork(text: string): Network | undefined {
  const [, host = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const first = parse(host)
  if (!first) return undefined
  const bits = first.kind() === 'ipv4' ? 32 : 128
  const prefix = Number(digits ?? bits)
  if (prefix > bits) return undefined
  const network = { first, prefix }
  return startOf(network).toNormalizedString() === first.toNormalizedString() ? network : undefined
}

export function isWithin(text: string, network: Network): boolean {
  const address = parse(text)
  return address !== undefined && matches(address, network)
}

/** Every address of it is one that an operator can allow. */
export function isPrivateNetwork({ first, prefix }: Network): boolean {
  return special.some(
    ({ kind, network }) =>
      kind === 'private' && prefix >= network.prefix && matches(first, network),
  )
}

function matches(address: Address, { first, prefix }: Network): boolean {
  return address.kind() === first.kind() && address.match(first, prefix)
}

function parse(text: string): Address | undefined {
  return isIP(text) === 0 || text.includes('%') ? undefined : ipaddr.parse(text)
}

function startOf({ first, prefix }: Network): Address {
  const cidr = `${first}/${prefix}`
  return first.kind() === 'ipv4'
    ? ipaddr.IPv4.networkAddressFromCIDR(cidr)
    : ipaddr.IPv6.networkAddressFromCIDR(cidr)
}

/** RFC 5214: the lower half says that it carries IPv4, inside any prefix. */
function isOfIsatap(address: Address): boolean {
  const { parts } = address as ipaddr.IPv6
  return ((parts[4] as number) & 0xfdff) === 0 && parts[5] === 0x5efe
}

function known(range: string): Network {
  const network = parseNetwork(range)
  if (!network) throw new TypeError(`no network: ${range}`)
  return network
}
