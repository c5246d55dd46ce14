import { expect, test } from 'vitest'
import { addressKind, isPrivateNetwork, isSameAddress, isWithin, parseNetwork } from './address.ts'
import { specialRanges } from './special-ranges.ts'

const listed = (text: string) => text.trim().split(/\s+/)

const never = listed(`
0.0.0.0 0.1.2.3 100.100.100.200 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 192.0.0.1 192.0.0.192 192.0.2.1
192.31.196.1 192.52.193.1 192.88.99.1 192.175.48.1 198.18.0.0 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.0
239.255.255.255 240.0.0.1 255.255.255.255
:: ::2 ::127.0.0.1 ::8.8.8.8 ::ffff:10.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 ::ffff:0:8.8.8.8
::ffff:7f00:1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::7f00:1 64:ff9b:1:ffff:ffff:ffff:ffff:ffff 64:ff9b:2::1
100::1 100:0:0:1::1 2001::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001:2::1 2001:3::1 2001:4:112::1 2001:10::1
2001:20::1 2001:30::1 2001:1ff:ffff::1 2001:db8::1 2002:7f00:1:: 2002:808:808::1 2620:4f:8000::1 3ffe::1 3fff::1
3fff:fff:ffff::1 4000::1 5f00::1 8000::1 e000::1 fbff::1 fd00:42::42 fd00:a9fe:a9fe::254 fd00:ec2::254 fd00:ec2::23
fd20:ce::254 fe80::1 fe80::1%eth0 febf::1 fec0::1 feff::1 ff00::1 ff02::1 ff0e::1
2606:4700::5efe:7f00:1 2606:4700::200:5efe:a00:1 2606:4700::5efe:808:808
`)

const privateOnes = listed(`
10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 172.16.0.0 172.31.255.255 192.168.0.0 192.168.255.255
fc00::1 fd00::1 fdff:ffff::1
`)

const loopback = listed('127.0.0.0 127.0.0.1 127.9.9.9 127.255.255.255 ::1 0:0:0:0:0:0:0:1')

const open = listed(`
1.0.0.0 1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1 168.63.129.15
168.63.129.17 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.1 191.255.255.255 192.0.1.1 192.0.3.1 192.31.195.255
192.31.197.0 192.52.192.255 192.52.194.0 192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.1 192.175.47.255
192.175.49.0 198.17.255.255 198.20.0.1 198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255
2000::1 2001:200::1 2001:4860:4860::8888 2001:db7:ffff::1 2001:db9::1 2003::1 2400:cb00::1 2606:4700:4700::1111
2606:4700::5eff:7f00:1 2620:4f:7fff::1 2620:4f:8001::1 2a00:1450:4001:80b::200e 3ffd:ffff::1 3fff:1000::1
`)

const notAddresses = [
  '',
  'localhost',
  '2130706433',
  '0x7f000001',
  '0177.0.0.1',
  '127.1',
  '1.1.1.1 ',
]

test.each(never)('%s is nobody’s destination', (address) => {
  expect(addressKind(address)).toBe('never')
})

test.each(privateOnes)('%s is of a private network', (address) => {
  expect(addressKind(address)).toBe('private')
})

test.each(loopback)('%s is this machine', (address) => {
  expect(addressKind(address)).toBe('loopback')
})

test.each(open)('%s is of the public internet', (address) => {
  expect(addressKind(address)).toBe('public')
})

test.each(notAddresses)('%j is no address', (text) => {
  expect(addressKind(text)).toBe('never')
  expect(parseNetwork(text)).toBeUndefined()
})

test.each(specialRanges)(
  '$range is not public from its first address to its last',
  ({ range, kind }) => {
    const [first = '', prefix] = range.split('/')
    expect(addressKind(first)).toBe(kind)
    expect(addressKind(lastOf(first, Number(prefix)))).not.toBe('public')
  },
)

/** All bits behind the prefix set, counted without the library that is tested. */
function lastOf(first: string, prefix: number): string {
  const isFour = !first.includes(':')
  const [bits, size] = isFour ? [32, 8] : [128, 16]
  const parts = isFour ? first.split('.').map(Number) : groupsOf(first)
  const value = parts.reduce((sum, part) => (sum << BigInt(size)) | BigInt(part), 0n)
  const last = value | ((1n << BigInt(bits - prefix)) - 1n)
  const partAt = (index: number) =>
    Number((last >> BigInt(bits - size * (index + 1))) & ((1n << BigInt(size)) - 1n))
  const all = Array.from({ length: bits / size }, (_, index) => partAt(index))
  return isFour ? all.join('.') : all.map((part) => part.toString(16)).join(':')
}

function groupsOf(address: string): number[] {
  const [head = '', tail] = address.split('::')
  const groups = (text: string) =>
    (text === '' ? [] : text.split(':')).map((one) => Number(`0x${one}`))
  if (tail === undefined) return groups(head)
  const missing = 8 - groups(head).length - groups(tail).length
  return [...groups(head), ...Array.from({ length: missing }, () => 0), ...groups(tail)]
}

test('spellings of one address are the same address', () => {
  expect(isSameAddress('2001:DB8::1', '2001:db8:0:0::1')).toBe(true)
  expect(isSameAddress('127.0.0.1', '127.0.0.2')).toBe(false)
  expect(isSameAddress('', '')).toBe(false)
})

test('a network is an address with a prefix and nothing behind it', () => {
  const ten = parseNetwork('10.0.0.0/8')
  const one = parseNetwork('10.0.0.7')
  if (!ten || !one) throw new Error('not parsed')
  expect([isWithin('10.255.0.1', ten), isWithin('11.0.0.1', ten)]).toEqual([true, false])
  expect([isWithin('10.0.0.7', one), isWithin('10.0.0.8', one)]).toEqual([true, false])
  expect([isWithin('::ffff:10.0.0.7', one), isWithin('x', one)]).toEqual([false, false])
  for (const bad of [
    '10.0.0.1/8',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10/8',
    'fd00::1/8',
    'fd00::/129',
    '::1%lo',
  ])
    expect(parseNetwork(bad), bad).toBeUndefined()
})

test.each([
  ['10.0.0.0/8', true],
  ['10.1.0.0/16', true],
  ['192.168.7.7', true],
  ['100.64.0.0/10', true],
  ['fd00::/8', true],
  ['fc00::/7', true],
  ['10.0.0.0/7', false],
  ['0.0.0.0/0', false],
  ['127.0.0.0/8', false],
  ['169.254.0.0/16', false],
  ['8.8.8.0/24', false],
  ['fe80::/10', false],
  ['::/0', false],
  ['::ffff:10.0.0.0/104', false],
])('%s is a network that can be allowed: %s', (text, expected) => {
  const network = parseNetwork(text)
  expect(network !== undefined && isPrivateNetwork(network)).toBe(expected)
})
