import { expect, test } from 'vitest'
import { isWider, readScope, writeScope } from './scope.ts'

test.each([
  ['a b', 'a b'],
  ['  a   a b ', 'a b'],
  ['repo,user', 'repo,user'],
  ['a"b c', 'c'],
  ['a\u00e4', undefined],
  ['', undefined],
  [7, undefined],
  [undefined, undefined],
  [['a'], undefined],
])('of %j it reads %j', (text, scope) => {
  expect(readScope(text)).toBe(scope)
})

test('keeps no more than can be a list of scopes', () => {
  const many = Array.from({ length: 1_000 }, (_, at) => `s${at}`)
  expect(writeScope(many)?.split(' ')).toHaveLength(256)
  expect(writeScope(['x'.repeat(257)])).toBeUndefined()
})

test.each([
  ['a', 'a b', false],
  ['b a', 'a b', false],
  ['a c', 'a b', true],
  ['A', 'a', true],
  ['a offline_access', 'a', false],
])('"%s" beside "%s": wider %s', (scope, agreed, wider) => {
  expect(isWider(scope, agreed)).toBe(wider)
})
