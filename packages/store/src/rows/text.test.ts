import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compareText, keepText, readText } from './text.ts'

/** Every sequence of UTF-16 units, surrogates in any order among them. */
const anyText = fc
  .array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constantFrom(0, 1, 34, 0xd800, 0xdc00)))
  .map((units) => String.fromCharCode(...units))

test('keeps ordinary text as it is', () => {
  expect(keepText('wiki – "search" 😀')).toBe('wiki – "search" 😀')
})

test('keeps what no engine keeps as JSON behind a mark', () => {
  expect(keepText('a\0b')).toBe('\u0001"a\\u0000b"')
  expect(keepText('\ud800')).toBe('\u0001"\\ud800"')
  expect(keepText('\u0001x')).toBe('\u0001"\\u0001x"')
})

test('gives back any text, from a form that every engine keeps', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      const kept = keepText(text)
      expect(readText(kept)).toBe(text)
      expect(kept.isWellFormed() && !kept.includes('\0')).toBe(true)
    }),
  )
})

test('never keeps two texts as one', () => {
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      expect(keepText(a) === keepText(b)).toBe(a === b)
    }),
  )
})

test('orders as the bytes of the kept forms do', () => {
  fc.assert(
    fc.property(anyText, anyText, (a, b) => {
      const bytes = Buffer.compare(Buffer.from(keepText(a)), Buffer.from(keepText(b)))
      expect(Math.sign(compareText(a, b))).toBe(bytes)
    }),
  )
})

test('refuses what is no text, and what it never kept', () => {
  expect(() => keepText(undefined as unknown as string)).toThrow(TypeError)
  for (const damaged of [null, 7, '\u0001', '\u0001{}', '\u0001"a'])
    expect(() => readText(damaged)).toThrow()
})
