import { expect, test } from 'vitest'
import { AllowedHosts, placeIn } from './allowed-hosts.ts'

test.each([
  ['example.com', 'example.com:443', true],
  ['Example.COM.', 'EXAMPLE.com.:443', true],
  ['example.com', 'www.example.com:443', false],
  ['example.com', 'example.com:8443', false],
  ['example.com:8443', 'example.com:8443', true],
  ['*.example.com', 'a.b.example.com:443', true],
  ['*.example.com', 'example.com:443', false],
  ['*.example.com', 'badexample.com:443', false],
  ['1.1.1.1', '1.1.1.1:443', true],
  ['1.1.1.0/24', '1.1.1.9:443', true],
  ['1.1.1.1', 'one.example:443', false],
  ['[2606:4700::1]:8443', '[2606:4700:0::1]:8443', true],
  ['2606:4700::/32', '[2606:4700::9]:443', true],
])('the rule %s allows %s: %s', (rule, asked, isAllowed) => {
  const place = placeIn(asked)
  expect(place && new AllowedHosts([rule]).allows(place)).toBe(isAllowed)
})

test.each([
  'example.com',
  'example.com:',
  'example.com:22',
  'example.com:0',
  'example.com:99999',
  '0x7f.1:443',
  '2130706433:443',
  '017700000001:443',
  '[::1%25lo]:443',
  '[::1:443',
  'user@example.com:443',
  'http://example.com:443',
  'a/b:443',
  'a..b:443',
  ':443',
  '',
])('%s is no place', (asked) => {
  expect(placeIn(asked)).toBeUndefined()
})

test.each([
  '',
  '*',
  '*.',
  'a*.example',
  'example.com:22',
  'https://example.com',
  'a:b:c',
  '1.2.3.4/8',
])('the rule "%s" is refused', (rule) => {
  expect(() => new AllowedHosts([rule])).toThrow(expect.objectContaining({ code: 'bad_host_rule' }))
})
