import fc from 'fast-check'
import { expect, test } from 'vitest'
import { linearPatterns } from './linear-pattern.ts'
import { NotLinear } from './to-re2.ts'

const compile = (pattern: string) => linearPatterns()(pattern)

const samples = [
  '',
  'a',
  'A',
  'aa',
  'ab-c.d_e',
  'é',
  'e\u0301',
  'ß',
  '😀',
  '😀😀',
  '0',
  '42',
  '٣',
  ' ',
  '\t',
  '\n',
  'a\n',
  'a\nb',
  '\r',
  '\v',
  '\f',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\u3000',
  '\u0000',
  '\u0008',
  '\u0001',
  '-',
  '^',
  ']',
  '\\',
  '/',
  '{',
  '{2}',
  'a{,5}',
  'Ω',
  'α',
  'и',
  'user@example.com',
  '2026-11-30',
]

test.each([
  '^a',
  'a$',
  '^$',
  '^.$',
  '^..$',
  '.',
  '\\s',
  '^\\S+$',
  '^\\d+$',
  '^\\D+$',
  '\\w',
  '\\W',
  '\\bab\\b',
  '\\Ba',
  '^[\\w-.]+$',
  '^[^\\s]+$',
  '^[^\\S]$',
  '^[\\s\\d]*$',
  '^[\\S]$',
  '[]',
  '^[^]$',
  '[^a]',
  '[a-]',
  '[-a]',
  '[\\]]',
  '[\\^]',
  '[\\\\]',
  '[\\b]',
  '[--/]',
  '[!-~]',
  '^\\u0061$',
  '^\\u{61}$',
  '^\\u{1f600}$',
  '^\\ud83d\\ude00$',
  '^[\\ud83d\\ude00-\\ud83d\\ude4f]+$',
  '^[\\u0020-\\uD7FF\\uE000-\\uFFFD\\uD800\\uDC00-\\uDBFF\\uDFFF\\r\\n\\t]*$',
  '^\\x41$',
  '\\cA',
  '\\0',
  '\\/',
  '\\-',
  '\\{',
  'a{,5}',
  '{',
  '^a{2}$',
  '^a{1,}$',
  '^a{1,3}?$',
  '^(?:a|b|aa)*$',
  '^(?<first>a)(b)?',
  '^(a+)+$',
  'a||b',
  '(?:)',
  '\\p{L}',
  '^\\P{L}$',
  '\\p{Lu}',
  '\\p{Uppercase_Letter}',
  '\\p{Script=Greek}',
  '^[\\p{L}\\p{N}._-]+$',
  '^[^\\p{Cyrillic}]$'.replace('Cyrillic', 'sc=Cyrillic'),
  '\\p{Emoji}',
  "^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+)@(?:[a-z0-9]+\\.)+[a-z]{2,}$",
  '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$',
])('%s matches exactly what it matches in ECMA-262', (pattern) => {
  let expected: RegExp
  try {
    expected = new RegExp(pattern, 'u')
  } catch {
    expected = new RegExp(pattern)
  }
  const ours = compile(pattern)
  for (const text of samples) expect([text, ours.test(text)]).toEqual([text, expected.test(text)])
})

const atom = fc.constantFrom(
  'a',
  'b',
  '0',
  '\\.',
  '.',
  '\\d',
  '\\D',
  '\\w',
  '\\W',
  '\\s',
  '\\S',
  'é',
  '\\u00e9',
  '\\u{1f600}',
  '[ab]',
  '[^a]',
  '[a-c0-9]',
  '[\\s\\d]',
  '[^\\S]',
  '[\\w.]',
  '\\b',
  '^',
  '$',
  '\\t',
  '\\x41',
  '\\p{L}',
  '[\\P{L}]',
)
const pattern = fc.letrec<{ term: string }>((tie) => ({
  term: fc.oneof(
    { maxDepth: 4 },
    atom,
    fc.array(tie('term'), { maxLength: 3 }).map((terms) => terms.join('')),
    fc.array(tie('term'), { maxLength: 3 }).map((terms) => `(${terms.join('|')})`),
    fc
      .tuple(tie('term'), fc.constantFrom('*', '+', '?', '{2}', '{0,2}', '{1,}', '*?'))
      .map(([term, repeat]) => `(?:${term})${repeat}`),
  ),
})).term

test('random patterns match exactly what they match in ECMA-262', () => {
  fc.assert(
    fc.property(
      pattern,
      fc.array(
        fc.constantFrom(
          'a',
          'b',
          'c',
          'A',
          '0',
          '.',
          '-',
          ' ',
          '\n',
          '\u00a0',
          '\u2028',
          'é',
          '😀',
        ),
        {
          maxLength: 8,
        },
      ),
      (source, chars) => {
        const text = chars.join('')
        expect(compile(source).test(text)).toBe(new RegExp(source, 'u').test(text))
      },
    ),
    { numRuns: 5000 },
  )
})

test.each([
  '(?=a)',
  '(?!a)',
  '(?<=a)b',
  '(?<!a)b',
  '(a)\\1',
  '(?<n>a)\\k<n>',
  '(?i:a)',
  '[',
  '(',
  'a**',
  '\\p{Nope}',
  '\\p{scx=Greek}',
  'a{1001}',
  'a{5000}',
  '(?:a{100}){100}',
  `(?:${'a'.repeat(500)}){1000}`,
  'a'.repeat(4097),
])('refuses %s', (source) => {
  expect(() => compile(source)).toThrow(NotLinear)
})

test('patterns of one schema may not be large together, each alone may', () => {
  const patterns = linearPatterns()
  const sources = Array.from({ length: 80 }, (_, i) => `^[a-z]{0,${900 + i}}$`)
  expect(() => sources.forEach((source) => void patterns(source))).toThrow(NotLinear)
  for (const source of sources) expect(compile(source).test('abc')).toBe(true)
})
