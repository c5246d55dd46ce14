import { expect, test } from 'vitest'
import { escapeText } from './escape.ts'

test.each([
  ['a control character', 'a\x1b[31mb', 'a\\u{1b}[31mb'],
  ['a C1 control character', '\x9b', '\\u{9b}'],
  ['a line end', 'a\r\nb', 'a\\u{d}\\u{a}b'],
  ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
  ['a bidirectional override', 'a\u202eb', 'a\\u{202e}b'],
  ['a bidirectional isolate', 'a\u2066b', 'a\\u{2066}b'],
  ['a zero-width space', 'a\u200bb', 'a\\u{200b}b'],
  ['a byte order mark', '\ufeffa', '\\u{feff}a'],
  ['a tag', 'a\u{e0041}b', 'a\\u{e0041}b'],
  ['a variation selector', 'a\u{e0100}b', 'a\\u{e0100}b'],
  ['a Hangul filler', 'a\u3164b', 'a\\u{3164}b'],
  ['half a pair', 'a\ud800b', 'a\\u{d800}b'],
  ['a non-character', 'a\uffffb\u{1ffff}', 'a\\u{ffff}b\\u{1ffff}'],
])('escapes %s', (_, text, shown) => {
  expect(escapeText(text)).toBe(shown)
})

test('leaves readable text of every script as it is', () => {
  const text = 'Größe 日本語 العربية עברית हिन्दी 👍 a\u0301'
  expect(escapeText(text)).toBe(text)
})
