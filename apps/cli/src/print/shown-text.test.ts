import { expect, test } from 'vitest'
import { shownText } from './shown-text.ts'

test.each([
  ['more marks than any script stacks', `e${'\u0301'.repeat(5)}`, `e${'\u0301'.repeat(4)}\\u{301}`],
  ['a mark without a letter', '\u0301a', '\\u{301}a'],
  ['a mark on a sign of ours', '"\u0338"', '"\\u{338}"'],
  ['what protocol escapes', 'a\u202e\x1b', 'a\\u{202e}\\u{1b}'],
])('escapes %s', (_, text, shown) => {
  expect(shownText(text)).toBe(shown)
  expect(shownText(shown)).toBe(shown)
})

test.each(['e\u0301', 'हिन्दी', 'שָׁלוֹם', 'ｶﾞ', '1\u20e3'])('leaves %s as it is', (text) => {
  expect(shownText(text)).toBe(text)
})
