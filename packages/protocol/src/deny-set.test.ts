import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DenyEntry, deniedNames, denyHost, isDenied } from './deny-set.ts'

const setOf = (...entries: (DenyEntry | string)[]) => ({
  entries: entries.map((one) => (typeof one === 'string' ? { host: one, port: null } : one)),
})
const some = setOf({ host: 'mcp.example.com', port: 443 }, '93.184.216.34', '2606:2800:220:1::9')

test.each([
  'mcp.example.com',
  'MCP.Example.COM',
  'mcp.example.com.',
  'ｍｃｐ.example.com',
  'mcp。example。com',
  '93.184.216.34',
  '93.184.216.34.',
  '0135.0270.0330.0042',
  '0x5d.0xb8.0xd8.0x22',
  '0x5db8d822',
  '1572395042',
  '93.12113954',
  '::ffff:93.184.216.34',
  '[::ffff:5db8:d822]',
  '::93.184.216.34',
  '::ffff:0:93.184.216.34',
  '64:ff9b::93.184.216.34',
  '64:ff9b:1::5db8:d822',
  '2002:5db8:d822::1',
  '2001:0:5db8:d822::1',
  '2001:0:0:0:0:0:a247:27dd',
  'fe80::5efe:93.184.216.34',
  '2606:2800:220:1::9',
  '2606:2800:0220:0001:0000:0000:0000:0009',
  '[2606:2800:220:1:0:0:0:9]',
])('denies %s, however it is spelt', (host) => {
  expect(isDenied(some, host, 443)).toBe(true)
  expect(isDenied(setOf('other.example.com'), host, 443)).toBe(false)
})

test.each([
  'example.com',
  'xmcp.example.com',
  'a.mcp.example.com',
  'mcp.example.com.au',
  'mcp.example.co',
  '93.184.216.35',
  '::ffff:93.184.216.35',
  '64:ff9b::93.184.216.33',
  '2606:2800:220:1::a',
])('does not deny %s, which is another', (host) => {
  expect(isDenied(some, host, 443)).toBe(false)
})

test.each([
  '',
  ' ',
  'a b',
  'mcp.example.com/x',
  'user@mcp.example.com',
  'mcp.example.com:443',
  'fe80::1%eth0',
  '%6dcp.example.com',
  'a\0b',
  'a..',
  '[1.2.3.4',
  '256.1.1.1',
])('denies %j, which is no host', (host) => {
  expect(isDenied(setOf(), host)).toBe(true)
})

test('judges the port, and without one every port', () => {
  const two = setOf({ host: 'a.example', port: 8443 })
  expect(isDenied(two, 'a.example', 8443)).toBe(true)
  expect(isDenied(two, 'a.example', 443)).toBe(false)
  expect(isDenied(two, 'a.example')).toBe(true)
  expect(isDenied(setOf('a.example'), 'a.example', 1)).toBe(true)
})

test('a wildcard is every name under it, not itself, and no address', () => {
  const wild = setOf('*.example.com')
  expect(isDenied(wild, 'a.b.EXAMPLE.com.')).toBe(true)
  for (const host of ['example.com', 'xexample.com', 'example.com.evil.test', '1.2.3.4'])
    expect(isDenied(wild, host)).toBe(false)
})

test('a network is every address in it, also as IPv6 carries it', () => {
  const nets = setOf('10.0.0.0/8', '2001:db8::/32')
  for (const host of ['10.1.2.3', '0xa.1', '::ffff:10.9.9.9', '2001:db8:1::2'])
    expect(isDenied(nets, host)).toBe(true)
  for (const host of ['11.0.0.1', '2001:db9::1', 'ten.example'])
    expect(isDenied(nets, host)).toBe(false)
})

test('a set that cannot be read denies everything', () => {
  expect(isDenied(setOf('not a host'), 'fine.example')).toBe(true)
})

test('names are asked for their addresses; wildcards, networks and addresses have none', () => {
  const set = setOf({ host: 'b.example', port: 443 }, 'a.example', '*.c.example', '10.0.0.0/8')
  expect(deniedNames(set)).toEqual(['b.example', 'a.example'])
  expect(deniedNames(set, 80)).toEqual(['a.example'])
})

test.each([
  ['A.Example.', 'a.example'],
  ['*.A.Example.', '*.a.example'],
  ['0x7f.1', '127.0.0.1'],
  ['[::FFFF:7f00:1]', '::ffff:7f00:1'],
  ['10.0.0.0/8', '10.0.0.0/8'],
  ['bücher.example', 'xn--bcher-kva.example'],
  ['10.0.0.1/8', undefined],
  ['10.0.0.0/33', undefined],
  ['*.10.0.0.1', undefined],
  ['*', undefined],
  ['a/b', undefined],
])('writes %s as %s', (text, written) => {
  expect(denyHost(text)).toBe(written)
})

test('what is written is denied by what was written', () => {
  const label = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/)
  const name = fc.array(label, { minLength: 1, maxLength: 4 }).map((all) => all.join('.'))
  fc.assert(
    fc.property(fc.oneof(name, fc.ipV4(), fc.ipV6()), (host) => {
      const written = denyHost(host)
      return written === undefined || isDenied(setOf(written), host)
    }),
  )
})
