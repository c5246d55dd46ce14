import { expect, test } from 'vitest'
import { translate } from './translate.ts'

test('numbers no parameters that come one after the other', () => {
  expect(translate('INSERT INTO t (a, b) VALUES ($1, $2)')).toBe(
    'INSERT INTO t (a, b) VALUES (?, ?)',
  )
  expect(translate('SELECT a FROM t WHERE b = $1 AND c > $1')).toBe(
    'SELECT a FROM t WHERE b = ?1 AND c > ?1',
  )
  expect(translate('UPDATE t SET a = $2 WHERE b = $1')).toBe('UPDATE t SET a = ?2 WHERE b = ?1')
})

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
