/**
 * Every range of the IANA registries of special-purpose addresses (iana-ipv4-special-registry,
 * iana-ipv6-special-registry), multicast and reserved space, forms that carry another address inside, and what clouds
 * put beside them. A form that carries an address is refused whole, whatever it carries: no server of the public
 * internet answers with one, and where it leads is decided by a translator that we cannot see.
 */

/**
 * `loopback`: this machine. `private`: a network an operator can allow. `never`: nobody's destination, allowed by
 * nothing. Where ranges overlap, the narrowest counts.
 */
export type SpecialKind = 'loopback' | 'private' | 'never'

export interface SpecialRange {
  readonly range: string
  readonly kind: SpecialKind
  readonly what: string
}

const row = (range: string, kind: SpecialKind, what: string): SpecialRange => ({
  range,
  kind,
  what,
})

export const specialRanges: readonly SpecialRange[] = [
  row('0.0.0.0/8', 'never', 'this network, RFC 791: Linux takes it for this machine'),
  row('10.0.0.0/8', 'private', 'RFC 1918'),
  row('100.64.0.0/10', 'private', 'shared by carriers, RFC 6598'),
  row('100.100.100.200/32', 'never', 'metadata of Alibaba Cloud, in the shared range'),
  row('127.0.0.0/8', 'loopback', 'RFC 1122'),
  row('168.63.129.16/32', 'never', 'the host of an Azure machine'),
  row('169.254.0.0/16', 'never', 'link-local, RFC 3927: metadata of most clouds'),
  row('172.16.0.0/12', 'private', 'RFC 1918'),
  row('192.0.0.0/24', 'never', 'protocol assignments, RFC 6890: metadata of Oracle'),
  row('192.0.2.0/24', 'never', 'documentation, RFC 5737'),
  row('192.31.196.0/24', 'never', 'AS112, RFC 7535'),
  row('192.52.193.0/24', 'never', 'multicast tunnels, RFC 7450'),
  row('192.88.99.0/24', 'never', 'relays of 6to4, RFC 7526'),
  row('192.168.0.0/16', 'private', 'RFC 1918'),
  row('192.175.48.0/24', 'never', 'AS112, RFC 7534'),
  row('198.18.0.0/15', 'never', 'benchmarks, RFC 2544'),
  row('198.51.100.0/24', 'never', 'documentation, RFC 5737'),
  row('203.0.113.0/24', 'never', 'documentation, RFC 5737'),
  row('224.0.0.0/4', 'never', 'multicast, RFC 5771'),
  row('240.0.0.0/4', 'never', 'reserved, RFC 1112, and broadcast, RFC 919'),

  row('::1/128', 'loopback', 'RFC 4291'),
  row('::/128', 'never', 'unspecified, RFC 4291: Linux takes it for this machine'),
  row('::/96', 'never', 'carries IPv4: compatible, RFC 4291'),
  row('::ffff:0:0/96', 'never', 'carries IPv4: mapped, RFC 4291'),
  row('::ffff:0:0:0/96', 'never', 'carries IPv4: translated, RFC 2765'),
  row('64:ff9b::/96', 'never', 'carries IPv4: NAT64, RFC 6052'),
  row('64:ff9b:1::/48', 'never', 'carries IPv4: NAT64 of local use, RFC 8215'),
  row('100::/64', 'never', 'discarded, RFC 6666'),
  row('100:0:0:1::/64', 'never', 'dummy prefix, RFC 9780'),
  row('2001::/23', 'never', 'protocol assignments, RFC 2928'),
  row('2001::/32', 'never', 'carries IPv4: Teredo, RFC 4380'),
  row('2001:2::/48', 'never', 'benchmarks, RFC 5180'),
  row('2001:3::/32', 'never', 'multicast tunnels, RFC 7450'),
  row('2001:4:112::/48', 'never', 'AS112, RFC 7535'),
  row('2001:10::/28', 'never', 'ORCHID, RFC 4843'),
  row('2001:20::/28', 'never', 'ORCHID, RFC 7343'),
  row('2001:30::/28', 'never', 'ids of drones, RFC 9374'),
  row('2001:db8::/32', 'never', 'documentation, RFC 3849'),
  row('2002::/16', 'never', 'carries IPv4: 6to4, RFC 3056'),
  row('2620:4f:8000::/48', 'never', 'AS112, RFC 7534'),
  row('3ffe::/16', 'never', 'the 6bone, given back, RFC 3701'),
  row('3fff::/20', 'never', 'documentation, RFC 9637'),
  row('5f00::/16', 'never', 'segment routing, RFC 9602'),
  row('fc00::/7', 'private', 'unique local, RFC 4193'),
  row('fd00:42::42/128', 'never', 'metadata of Scaleway'),
  row('fd00:a9fe:a9fe::254/128', 'never', 'metadata of Akamai'),
  row('fd00:ec2::/32', 'never', 'metadata, names and time of Amazon'),
  row('fd20:ce::254/128', 'never', 'metadata of Google'),
  row('fe80::/10', 'never', 'link-local, RFC 4291'),
  row('fec0::/10', 'never', 'site-local, RFC 3879'),
  row('ff00::/8', 'never', 'multicast, RFC 4291'),
]

/** Outside of it no address of the public internet was ever given out. */
export const globalUnicast = '2000::/3'
