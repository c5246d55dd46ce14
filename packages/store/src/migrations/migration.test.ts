import { expect, test } from 'vitest'
import { checksum, type Migration, pending } from './migration.ts'
import { postgresMigrations, sqliteMigrations } from './migrations.ts'

const first: Migration = { number: 1, name: 'first', sql: 'CREATE TABLE a (x)' }
const second: Migration = { number: 2, name: 'second', sql: 'CREATE TABLE b (x)' }
const applied = (migration: Migration) => ({
  number: migration.number,
  checksum: checksum(migration),
})

/** What was released is never edited: write the next migration instead. */
test('is what was released', () => {
  expect(sqliteMigrations.map(checksum)).toEqual([
    'sha256:1082bb5bea9953b5831b9877e9b694cf9a834aef6b7bbbdb31c56e9c42cff23d',
    'sha256:0f774940fc23ffbab9a99285bb7ec1b2ada5c8acbc8cec08111efa0775e7fd63',
  ])
  expect(postgresMigrations.map(checksum)).toEqual([
    'sha256:1a7ffcec165999b97b4c353605223bb489953d7d529f0900c9d3614a0105c65e',
    'sha256:51f7356be3d91480fbe2e4f908fe3986a4d3cad61762820bd9957046b4bf051a',
  ])
})

test('numbers without a gap', () => {
  for (const migrations of [sqliteMigrations, postgresMigrations])
    expect(migrations.map(({ number }) => number)).toEqual(migrations.map((_, i) => i + 1))
})

test('applies what is missing, in order', () => {
  expect(pending([first, second], [])).toEqual([first, second])
  expect(pending([first, second], [applied(first)])).toEqual([second])
  expect(pending([first, second], [applied(first), applied(second)])).toEqual([])
})

test('refuses a database that a later release wrote', () => {
  expect(() => pending([first], [applied(first), applied(second)])).toThrow(
    expect.objectContaining({ code: 'schema_too_new' }) as Error,
  )
})

test('refuses a migration that was edited, and one that was left out', () => {
  const changed = expect.objectContaining({ code: 'migration_changed' }) as Error
  const edited = { ...applied(first), checksum: checksum(second) }
  expect(() => pending([first, second], [edited])).toThrow(changed)
  expect(() => pending([first, second], [applied(second)])).toThrow(changed)
})
