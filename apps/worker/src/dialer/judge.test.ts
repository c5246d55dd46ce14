import { expect, test } from 'vitest'
import type { Destination } from './destination.ts'
import { EgressPolicy } from './egress-policy.ts'
import { Judge, type JudgeOptions } from './judge.ts'

const own = 'con_0123456789abcdefghjkmnpqrs'
const blocked = expect.objectContaining({ code: 'upstream_blocked_address' })

function judge(options: Partial<JudgeOptions> = {}): Judge {
  return new Judge({
    localAllowed: false,
    policy: new EgressPolicy(),
    ownListeners: new Map(),
    ...options,
  })
}

const to = (host: string, more: Partial<Destination> = {}): Destination => ({
  scheme: 'https',
  host,
  port: 443,
  ...more,
})

test.each([
  'mcp.dev',
  'xn--bcher-kva.dev',
  'a_b.dev',
  'a',
  '8.8.8.8',
  '[2606:4700::1]',
  '1.2.3.4.nip.io',
])('%s is a host as a URL holds it', (host) => {
  expect(judge().admit(to(host))).toBe(host.replace(/[[\]]/g, ''))
})

test.each([
  '',
  '.',
  'MCP.dev',
  'mcp.dev.',
  '0x7f.1',
  '0177.0.0.1',
  '2130706433',
  '127.1',
  '１２７.0.0.1',
  'bücher.dev',
  '%6dcp.dev',
  'mcp.dev:80',
  'a@mcp.dev',
  'mcp.dev/x',
  'mcp.dev?x',
  'mcp.dev#x',
  ' mcp.dev',
  'mcp.dev\n',
  '::1',
  '[::1',
  '[0:0::1]',
  '[::ffff:127.0.0.1]',
  '[fe80::1%25lo]',
  '[::1%lo]',
  'mcp..dev',
  '.dev',
  'a b',
  '*.dev',
])('%j is another spelling, or no host', (host) => {
  expect(() => judge().admit(to(host))).toThrow(blocked)
})

test.each([0, 22, 25, 53, 110, 143, 6000, 6667, 10080, 65_536, -1, 1.5, Number.NaN])(
  'port %j is of another service',
  (port) => {
    expect(() => judge().admit(to('mcp.dev', { port }))).toThrow(blocked)
  },
)

test.each([1024, 443, 80, 3000, 8443, 65_535])('port %i may be of an MCP server', (port) => {
  expect(judge().admit(to('mcp.dev', { port }))).toBe('mcp.dev')
})

test('only what is public is far, and only over TLS', () => {
  expect(judge().address(to('mcp.dev'), 'mcp.dev', '8.8.8.8')).toBe('far')
  const clear = to('mcp.dev', { scheme: 'http' })
  expect(() => judge({ localAllowed: true }).address(clear, 'mcp.dev', '8.8.8.8')).toThrow(blocked)
  for (const address of ['10.0.0.1', '127.0.0.1', '169.254.169.254', '::1', 'fd00::1', 'x'])
    expect(() => judge().address(to('mcp.dev'), 'mcp.dev', address)).toThrow(blocked)
})

test('this machine is near where local upstreams are allowed, also without TLS', () => {
  const local = judge({ localAllowed: true })
  expect(local.address(to('localhost', { scheme: 'http' }), 'localhost', '127.0.0.1')).toBe('near')
  expect(() => local.address(to('mcp.dev'), 'mcp.dev', '0.0.0.0')).toThrow(blocked)
})

test('an open private network is near to its connection, over TLS, and metadata stay closed in it', () => {
  const policy = new EgressPolicy({
    allowPrivate: [`${own}=10.0.0.0/8`, `${own}=100.64.0.0/10`, `${own}=fc00::/7`],
  })
  const opened = judge({ policy })
  const mine = to('mcp.corp', { subject: own })
  for (const address of ['10.1.2.3', '100.100.100.201', 'fd00::1'])
    expect(opened.address(mine, 'mcp.corp', address)).toBe('near')
  for (const address of [
    '100.100.100.200',
    'fd00:ec2::254',
    'fd20:ce::254',
    '172.16.0.1',
    '127.0.0.1',
  ])
    expect(() => opened.address(mine, 'mcp.corp', address)).toThrow(blocked)
  expect(() => opened.address(to('mcp.corp'), 'mcp.corp', '10.1.2.3')).toThrow(blocked)
  const clear = to('mcp.corp', { subject: own, scheme: 'http' })
  expect(() => opened.address(clear, 'mcp.corp', '10.1.2.3')).toThrow(blocked)
  const denied = judge({
    policy: new EgressPolicy({ allowPrivate: [`${own}=10.0.0.0/8`], deny: ['10.9.0.0/16'] }),
  })
  expect(denied.address(mine, 'mcp.corp', '10.1.2.3')).toBe('near')
  expect(() => denied.address(mine, 'mcp.corp', '10.9.2.3')).toThrow(blocked)
})

test('our own listeners are never reached, whatever else is allowed', () => {
  const listeners = [
    { host: '0.0.0.0', port: 7400 },
    { host: '10.1.2.3', port: 7400 },
    { host: '8.8.8.8', port: 7400 },
  ]
  const policy = new EgressPolicy({ allowPrivate: [`${own}=10.0.0.0/8`] })
  const guarded = judge({ localAllowed: true, policy, ownListeners: new Map([['i', listeners]]) })
  const at = (port: number) => to('mcp.dev', { port, subject: own })
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3', '8.8.8.8']) {
    expect(() => guarded.address(at(7400), 'mcp.dev', address)).toThrow(blocked)
    expect(guarded.address(at(7401), 'mcp.dev', address)).toMatch(/near|far/)
  }
})

test('a name that is resolved elsewhere belongs to the public internet, or is refused', () => {
  expect(() => judge().unseen(to('mcp.dev'), 'mcp.dev', false)).not.toThrow()
  for (const name of [
    'localhost',
    'a.localhost',
    'printer.local',
    'metadata.google.internal',
    'metadata',
    'router.lan',
    'x.home.arpa',
    'wiki.corp',
    'x.intranet',
    'x.private',
    'x.home',
    'x.test',
    'x.onion',
    'x.localdomain',
  ])
    expect(() => judge().unseen(to(name), name, true)).toThrow(blocked)
  const clear = to('mcp.dev', { scheme: 'http' })
  expect(() => judge().unseen(clear, 'mcp.dev', false)).toThrow(blocked)
})

test('of a name that is resolved elsewhere, a list of what is allowed must hold the name', () => {
  const listed = judge({ policy: new EgressPolicy({ allow: ['mcp.dev', '8.8.8.0/24'] }) })
  expect(() => listed.unseen(to('mcp.dev'), 'mcp.dev', false)).not.toThrow()
  expect(() => listed.unseen(to('other.dev'), 'other.dev', false)).toThrow(blocked)
  // Its addresses were judged here and are on the list.
  expect(() => listed.unseen(to('other.dev'), 'other.dev', true)).not.toThrow()
})
