import { expect, test } from 'vitest'
import { EgressPolicy } from './egress-policy.ts'

const own = 'con_0123456789abcdefghjkmnpqrs'
const other = 'con_0123456789abcdefghjkmnpqrt'

test('without rules nothing is denied and no private network is open', () => {
  const policy = new EgressPolicy()
  expect(policy.deniesName('mcp.dev')).toBe(false)
  expect(policy.allowsName('mcp.dev')).toBe(true)
  expect(policy.allowsAddress('mcp.dev', '8.8.8.8')).toBe(true)
  expect(policy.allowsPrivate(own, '10.0.0.1')).toBe(false)
})

test.each([
  ['evil.dev', 'evil.dev', true],
  ['Evil.DEV.', 'evil.dev', true],
  ['evil.dev', 'sub.evil.dev', false],
  ['evil.dev', 'notevil.dev', false],
  ['*.evil.dev', 'sub.evil.dev', true],
  ['*.evil.dev', 'a.b.evil.dev', true],
  ['*.evil.dev', 'evil.dev', false],
  ['*.evil.dev', 'notevil.dev', false],
  ['ｅvil。dev', 'evil.dev', true],
  ['bücher.dev', 'xn--bcher-kva.dev', true],
  ['*.bücher.dev', 'shop.xn--bcher-kva.dev', true],
  ['8.8.8.0/24', '8.8.8.8', false],
])('the rule %s names %s: %s', (rule, host, expected) => {
  const policy = new EgressPolicy({ deny: [rule] })
  expect(policy.deniesName(host)).toBe(expected)
  expect(policy.allowsName(host)).toBe(!expected)
  expect(policy.allowsAddress(host, '1.1.1.1')).toBe(!expected)
})

test('a network is denied whatever the name', () => {
  const policy = new EgressPolicy({ deny: ['8.8.8.0/24', '2001:4860::/32', '[2606:4700::1]'] })
  for (const address of ['8.8.8.8', '2001:4860::8888', '2606:4700::1'])
    expect(policy.allowsAddress('mcp.dev', address)).toBe(false)
  for (const address of ['8.8.9.8', '2001:4861::8888', '2606:4700::2'])
    expect(policy.allowsAddress('mcp.dev', address)).toBe(true)
})

test('with a list of what is allowed, the rest is not', () => {
  const policy = new EgressPolicy({ allow: ['mcp.dev', '*.good.dev', '8.8.8.0/24'] })
  expect(policy.allowsAddress('mcp.dev', '1.1.1.1')).toBe(true)
  expect(policy.allowsAddress('a.good.dev', '1.1.1.1')).toBe(true)
  expect(policy.allowsAddress('other.dev', '8.8.8.8')).toBe(true)
  expect(policy.allowsAddress('other.dev', '1.1.1.1')).toBe(false)
  expect(policy.allowsName('mcp.dev')).toBe(true)
  expect(policy.allowsName('other.dev')).toBe(false)
  // Its address may be allowed; that is judged when it is known.
  expect(policy.deniesName('other.dev')).toBe(false)
})

test('denied beats allowed, by name and by address', () => {
  const policy = new EgressPolicy({
    allow: ['*.good.dev', '8.0.0.0/8'],
    deny: ['bad.good.dev', '8.8.8.8'],
  })
  expect(policy.allowsAddress('fine.good.dev', '1.1.1.1')).toBe(true)
  expect(policy.allowsAddress('bad.good.dev', '1.1.1.1')).toBe(false)
  expect(policy.allowsAddress('fine.good.dev', '8.8.8.8')).toBe(false)
  expect(policy.allowsAddress('fine.good.dev', '8.8.4.4')).toBe(true)
})

test('a private network is open to the one it was opened for', () => {
  const policy = new EgressPolicy({ allowPrivate: [`${own}=10.1.0.0/16`, `${own}=fd00:1::/64`] })
  expect(policy.allowsPrivate(own, '10.1.2.3')).toBe(true)
  expect(policy.allowsPrivate(own, 'fd00:1::7')).toBe(true)
  expect(policy.allowsPrivate(own, '10.2.0.1')).toBe(false)
  expect(policy.allowsPrivate(other, '10.1.2.3')).toBe(false)
  expect(policy.allowsPrivate(undefined, '10.1.2.3')).toBe(false)
})

test.each([
  '',
  '*',
  '*.',
  '.dev',
  'a..dev',
  'https://mcp.dev',
  'mcp.dev:443',
  'mcp.dev/x',
  'a b',
  'a@b.dev',
  '10.1',
  '0x7f.1',
  '10.0.0.1/8',
  '*.10.0.0.1',
  'x.*.dev',
  '%65vil.dev',
])('%j is no rule', (rule) => {
  expect(() => new EgressPolicy({ deny: [rule] })).toThrow(TypeError)
  expect(() => new EgressPolicy({ allow: [rule] })).toThrow(TypeError)
})

test.each([
  '10.0.0.0/8',
  `${own}`,
  `${own}=`,
  `${own}=10.0.0.0/8=`,
  `name=10.0.0.0/8`,
  `ses_0123456789abcdefghjkmnpqrs=10.0.0.0/8`,
  `${own}=8.8.8.0/24`,
  `${own}=0.0.0.0/0`,
  `${own}=127.0.0.0/8`,
  `${own}=169.254.0.0/16`,
  `${own}=fe80::/10`,
  `${own}=internal.dev`,
])('%j opens no private network', (rule) => {
  expect(() => new EgressPolicy({ allowPrivate: [rule] })).toThrow(TypeError)
})
