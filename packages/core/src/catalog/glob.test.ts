import { expect, test } from 'vitest'
import { matchesGlob } from './glob.ts'

test.each([
  ['echo', 'echo'],
  ['*', ''],
  ['*', 'anything at all'],
  ['get_*', 'get_issue'],
  ['*_issue', 'get_issue'],
  ['*e*e*', 'delete'],
  ['get_?ssue', 'get_issue'],
  ['?', '😀'],
  ['a.b', 'a.b'],
  ['**', 'x'],
])('%s matches %s', (pattern, name) => {
  expect(matchesGlob(pattern, name)).toBe(true)
})

test.each([
  ['echo', 'Echo'],
  ['echo', 'echoes'],
  ['', 'x'],
  ['get_*', 'xget_issue'],
  ['*_issue', 'get_issues'],
  ['?', ''],
  ['a.b', 'axb'],
  ['[ab]', 'a'],
])('%s does not match %s', (pattern, name) => {
  expect(matchesGlob(pattern, name)).toBe(false)
})

test('a pattern of many stars against a long name ends at once', () => {
  const started = performance.now()
  expect(matchesGlob('*a'.repeat(30), `${'a'.repeat(5000)}b`)).toBe(false)
  expect(performance.now() - started).toBeLessThan(1000)
})
