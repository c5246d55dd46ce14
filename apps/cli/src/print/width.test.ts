import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cut, pad, widthOf, wrap } from './width.ts'

test.each([
  ['abc', 3],
  ['Größe', 5],
  ['日本語', 6],
  ['👍', 2],
  ['→ …', 3],
  ['❤', 2],
])('%s takes %i columns', (text, width) => {
  expect(widthOf(text)).toBe(width)
})

test('cuts with a mark, and only what is too long', () => {
  expect(cut('abcdef', 6)).toBe('abcdef')
  expect(cut('abcdef', 5)).toBe('abcd…')
  expect(cut('日本語', 5)).toBe('日本…')
  expect(cut('日本語', 4)).toBe('日…')
  expect(cut('abc', 0)).toBe('')
})

test('pads to a width', () => {
  expect(pad('日', 4)).toBe('日  ')
  expect(pad('abc', 2)).toBe('abc')
})

test('breaks after a space, but not early in a line', () => {
  expect(wrap('one two three', 8)).toEqual(['one two ', 'three'])
  expect(wrap('a bcdefghijkl', 8)).toEqual(['a bcdefg', 'hijkl'])
  expect(wrap('', 8)).toEqual([''])
  expect(wrap('abcdefgh', 4, 2)).toEqual(['abcd', 'ef', 'gh'])
})

test('keeps marks with their letter', () => {
  expect(wrap('aaae\u0301', 4)).toEqual(['aaa', 'e\u0301'])
})

test('wrapped lines together are the text, and none is wider', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 8, max: 40 }), (text, width) => {
      const lines = wrap(text, width)
      expect(lines.join('')).toBe(text)
      // One letter with all its marks is never parted.
      const parts = lines.filter((line) => !/^\P{M}?\p{M}*$/u.test(line))
      for (const line of parts) expect(widthOf(line)).toBeLessThanOrEqual(width)
    }),
  )
})
