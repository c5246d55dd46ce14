import { expect, test } from 'vitest'
import { translate } from './translate.ts'

test('numbers parameters as SQLite does', () => {
  expect(translate('SELECT a FROM t WHERE b = $1 AND c > $12')).toBe(
    'SELECT a FROM t WHERE b = ?1 AND c > ?12',
  )
})

test('reads a list from JSON', () => {
  expect(translate('WHERE id = ANY($2) ORDER BY id')).toBe(
    'WHERE id IN (SELECT value FROM json_each(?2)) ORDER BY id',
  )
})

test('leaves out row locks', () => {
  expect(translate('SELECT a FROM t ORDER BY a FOR NO KEY UPDATE')).toBe(
    'SELECT a FROM t ORDER BY a',
  )
  expect(translate('SELECT a FROM t FOR SHARE')).toBe('SELECT a FROM t')
  expect(translate('SELECT a FROM t FOR KEY SHARE')).toBe('SELECT a FROM t')
  expect(translate('SELECT a FROM t FOR NO KEY UPDATE SKIP LOCKED')).toBe('SELECT a FROM t')
})
