/**
 * What a guest must never reach by itself: the places behind connections and their authorization servers, what the operator
 * adds, our own listeners. One whole set, numbered and immutable; it beats every rule that allows something.
 */
export interface DenyEntry {
  /** As `denyHost` writes it: a name, `*.name` (every name under it, not itself), an address without brackets, a network. */
  readonly host: string
  /** Null: every port. */
  readonly port: number | null
}

export interface DenySet {
  /** Counts up. 0 is the empty set, of before anything was recorded. */
  readonly revision: number
  /** `sha256:` over revision and entries. */
  readonly digest: string
  /** Ordered, each once. */
  readonly entries: readonly DenyEntry[]
}

type Entries = Pick<DenySet, 'entries'>

/**
 * Is this place denied? `host` is a name or an address in any spelling; ask for the name that was asked for, and again for
 * each address behind it. Without a port it is denied when some port of it is. What is no host is denied.
 */
export function isDenied({ entries }: Entries, host: string, port?: number): boolean {
  const wanted = readHost(host)
  if (wanted === undefined) return true
  return entries.some(
    (entry) =>
      (entry.port === null || port === undefined || entry.port === port) &&
      covers(entry.host, wanted),
  )
}

/** Names of the set whose addresses are denied too: whoever reaches a place by its address asks them first. */
export function deniedNames({ entries }: Entries, port?: number): string[] {
  const names = entries.flatMap((entry) => {
    const isAsked = entry.port === null || port === undefined || entry.port === port
    const host = isAsked ? readHost(entry.host) : undefined
    return host?.kind === 'name' ? [host.name] : []
  })
  return [...new Set(names)]
}

/** The one spelling of a host of an entry; undefined for what is none. */
export function denyHost(text: string): string | undefined {
  if (text.startsWith('*.')) {
    const under = readHost(text.slice(2))
    return under?.kind === 'name' ? `*.${under.name}` : undefined
  }
  const network = readNetwork(text)
  if (network) return network.text
  const host = readHost(text)
  if (host === undefined) return undefined
  return host.kind === 'name' ? host.name : host.text
}

type Host =
  | { readonly kind: 'name'; readonly name: string }
  /** With every form that leads to the same IPv4 address. */
  | { readonly kind: 'address'; readonly text: string; readonly all: readonly Address[] }

interface Address {
  readonly bits: 32 | 128
  readonly value: bigint
}

function covers(pattern: string, wanted: Host): boolean {
  if (pattern.startsWith('*.'))
    return wanted.kind === 'name' && wanted.name.endsWith(pattern.slice(1))
  const network = readNetwork(pattern)
  if (network) return wanted.kind === 'address' && wanted.all.some((one) => isIn(one, network))
  const denied = readHost(pattern)
  // A set that cannot be read denies everything.
  if (denied === undefined) return true
  if (denied.kind === 'name') return wanted.kind === 'name' && wanted.name === denied.name
  return (
    wanted.kind === 'address' &&
    denied.all.some((one) => wanted.all.some((other) => isSame(one, other)))
  )
}

function readHost(text: string): Host | undefined {
  const bare = text.replace(/^\[(.*)\]$/, '$1')
  const isSix = bare.includes(':')
  // What the URL parser would take for something other than the host, or drop without a word.
  if (bare === '' || /[\s/?#@\\%*[\]]/.test(bare) || /\p{Cc}/u.test(bare)) return undefined
  const address = `https://${isSix ? `[${bare}]` : bare}/`
  if (!URL.canParse(address)) return undefined
  const host = new URL(address).hostname.replace(/\.$/, '')
  if (host.startsWith('[')) return addressHost(host.slice(1, -1), readSix(host.slice(1, -1)))
  if (/^\d+(?:\.\d+){3}$/.test(host)) return addressHost(host, readFour(host))
  return host === '' || host.endsWith('.') ? undefined : { kind: 'name', name: host }
}

function addressHost(text: string, address: Address): Host {
  const inner = address.bits === 128 ? innerFours(address.value) : []
  return { kind: 'address', text, all: [address, ...inner] }
}

function readFour(text: string): Address {
  const value = text.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n)
  return { bits: 32, value }
}

/** As the URL parser writes it. */
function readSix(text: string): Address {
  const [head = '', tail] = text.split('::')
  const groups = (part: string) => part.split(':').filter((group) => group !== '')
  const [before, after] = [groups(head), groups(tail ?? '')]
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0')
  const value = [...before, ...zeros, ...after].reduce(
    (sum, group) => (sum << 16n) | BigInt(`0x${group}`),
    0n,
  )
  return { bits: 128, value }
}

const low32 = 0xffff_ffffn

/** The IPv4 addresses that an IPv6 address carries, in the forms that translators and tunnels know. */
function innerFours(value: bigint): Address[] {
  const last = value & low32
  const found: bigint[] = []
  const top96 = value >> 32n
  // ::a.b.c.d, ::ffff:a.b.c.d (RFC 4291), ::ffff:0:a.b.c.d (RFC 2765), 64:ff9b::a.b.c.d (RFC 6052)
  const carriers = [0n, 0xffffn, 0xffff_0000n, 0x64_ff9b_0000_0000_0000_0000n]
  if (carriers.includes(top96) && value > 1n) found.push(last)
  // RFC 8215
  if (value >> 80n === 0x64_ff9b_0001n) found.push(last)
  // 6to4 (RFC 3056)
  if (value >> 112n === 0x2002n) found.push((value >> 80n) & low32)
  // Teredo (RFC 4380): the server, and the client with its bits turned round
  if (value >> 96n === 0x2001_0000n) found.push((value >> 64n) & low32, last ^ low32)
  // ISATAP (RFC 5214)
  if (((value >> 32n) & 0xfdff_ffffn) === 0x5efen) found.push(last)
  return found.map((four) => ({ bits: 32, value: four }))
}

interface Network {
  readonly text: string
  readonly address: Address
  readonly prefix: number
}

function readNetwork(text: string): Network | undefined {
  const [, host = '', digits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? []
  const read = host === '' ? undefined : readHost(host)
  const address = read?.kind === 'address' ? read.all[0] : undefined
  const prefix = Number(digits)
  if (read?.kind !== 'address' || !address || prefix > address.bits) return undefined
  const rest = BigInt(address.bits - prefix)
  const isWhole = (address.value >> rest) << rest === address.value
  return isWhole ? { text: `${read.text}/${prefix}`, address, prefix } : undefined
}

function isIn(one: Address, { address, prefix }: Network): boolean {
  const rest = BigInt(address.bits - prefix)
  return one.bits === address.bits && one.value >> rest === address.value >> rest
}

function isSame(one: Address, other: Address): boolean {
  return one.bits === other.bits && one.value === other.value
}
