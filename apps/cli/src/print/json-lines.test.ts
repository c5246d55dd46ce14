import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formattedJson, rawJson } from './json-lines.ts'
import { shownText } from './shown-text.ts'
import { widthOf } from './width.ts'

test('a text with line ends goes on below itself, and a backslash before an n is none', () => {
  expect(formattedJson('{"a\\nb":"c\\nd\\\\n"}', 80)).toEqual([
    '  {',
    '    "a\\n',
    '      | b": "c\\n',
    '      | d\\\\n"',
    '  }',
  ])
})

test('empty ones stay on their line; text that is not JSON is shown as it is', () => {
  expect(formattedJson('{"a":[],"b":{}}', 80)).toEqual([
    '  {',
    '    "a": [],',
    '    "b": {}',
    '  }',
  ])
  expect(formattedJson('null', 80)).toEqual(['  null'])
  expect(formattedJson('no\x1b', 80)).toEqual(['| no\\u001b'])
})

test('a mark behind a line end does not stand on the margin', () => {
  expect(formattedJson('"a\\n\u0301b"', 80)).toEqual(['  "a\\n\u0301', '    | b"'])
})

const unmargined = (lines: readonly string[]): string =>
  lines.map((line) => line.replace(/^ *(?:\| )?/, '')).join('')

test('put together again the lines are the JSON, escaped, and none is too wide', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.integer({ min: 40, max: 100 }),
      (value, width) => {
        const text = JSON.stringify(value)
        const lines = formattedJson(text, width)
        for (const line of lines) {
          expect(line).toMatch(/^ {2}/)
          expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
          expect(widthOf(line)).toBeLessThanOrEqual(width)
        }
        const blank = (shown: string): string => shown.replace(/[ \n]/g, '')
        expect(blank(unmargined(lines))).toBe(blank(shownText(text)))
      },
    ),
  )
})

test('the raw lines put together are ASCII JSON of the same value', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ stringUnit: 'binary' }),
      fc.integer({ min: 20, max: 100 }),
      (value, width) => {
        const lines = rawJson(JSON.stringify(value), width)
        for (const line of lines) expect(line).toMatch(/^\| [ -~]*$/)
        for (const line of lines) expect(line.length).toBeLessThanOrEqual(width)
        const together = lines.map((line) => line.slice(2)).join('')
        expect(JSON.stringify(JSON.parse(together))).toBe(JSON.stringify(value))
      },
    ),
  )
})

test('64 KiB of one text are shown whole and soon', () => {
  const text = JSON.stringify({ a: 'é日 '.repeat(12_000), b: 'x\n'.repeat(9000) })
  const begun = performance.now()
  const lines = formattedJson(text, 80)
  expect(performance.now() - begun).toBeLessThan(2000)
  expect(unmargined(lines)).toHaveLength(text.length + 2)
})
